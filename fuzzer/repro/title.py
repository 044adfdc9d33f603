"""What is wrong, in one sentence in words of the program: the title of scripts and reports.

It is built from the evidence and from modules: the one before the pass, the one after it, and the nearest one that
passes, whose first difference from the failing one says what the failure hangs on. Runs inside an isolated worker.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from fuzzer.core.case import Case, load_module
from fuzzer.core.text import cut
from fuzzer.findings.assessment import Culprit
from fuzzer.findings.script_parts import Nearest
from fuzzer.repro.checks.check import seen_line
from fuzzer.repro.contradictions import contradictions, overwritten, vaguer
from fuzzer.repro.essence import LEAVES, essence
from fuzzer.repro.special_values import needed
from fuzzer.repro.spoiled import spoiled
from fuzzer.repro.table import forms_of, one_line
from fuzzer.repro.telling import returning_nothing, special, surroundings
from fuzzer.repro.told import Told
from oracles.core.verdict import NOT_AS_DOCUMENTED, Death, Evidence, Notation, Phase, Verdict
from oracles.gradient.oracle import KIND as GRADIENT
from oracles.measure.comparison import is_near
from oracles.metamorphic import environment
from oracles.metamorphic.locality import reach_of
from oracles.metamorphic.locality_variation import draw
from oracles.semantics.single import SingleCall, given_to
from oracles.structural.roundtrip import NOTATIONS
from oracles.structural.roundtrip_forms import UNLISTED_DEVICE, loss_in_script
from relaxkit.ir.call_types import stale_call
from relaxkit.ir.edits import functions_of, renamed
from relaxkit.ir.first_difference import Difference, Part, differences, value_text
from relaxkit.ir.functions import relax_functions
from relaxkit.ir.types import static_dims
from relaxkit.ir.undefined import bound, undefined
from relaxkit.ir.walk import callee_name, expressions_in, is_constant, name_of, operator_of, places
from relaxkit.passes.arguments import parts_of
from relaxkit.passes.claims.kept import KEPT
from relaxkit.passes.contract import Abi, OracleName
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.runtime.values import arrays_in

MOST = 110
_GONE, _LOST = Part.OPERATOR_GONE, (Part.OPERAND_GONE, Part.ATTRIBUTE)
_KEPT = {each.claim for each in KEPT.values()}
AGAIN = ", run on its own output, "
"""What a title puts before what a second run does."""
_RETYPED = (Part.TYPE, Part.DEVICE)
_SIGNATURE = (Part.SIGNATURE, Part.TYPE, Part.PROPERTY, Part.FUNCTION_GONE)
_VALUES = ("wrong-value", "wrong-shape", "wrong-dtype", "wrong-structure")
_WORDS = {
    "other-effects": "changes what a program prints",
    "input-overwritten": "makes a program overwrite its inputs",
    "output-overwritten": "makes a program overwrite an earlier result",
    "uninitialized-read": "makes a program read memory that nothing has written",
    "second-call-differs": "makes a program return a different result when called again",
    "later-call-differs": "makes a program return a different result when called again",
}
_DEATHS = {Death.HANG: "does not end", Death.MEMORY: "runs out of memory"}
_CLAUSE = r",? (?:but|where|which|while|given|because|when|from(?=.* to )) "
_CLAUSE += r"|[,;:] (?!undefined\b)| \((?=[a-z]{3}[^()]*\)(?:[,;:] |\Z))"
_SENTENCE = r"[.!?](?=\s)"  # what users' code and Python say has no clauses that are known
_CUT = " ..."  # behind a message that is cut within a clause
_ENOUGH = 30  # letters of a message in which no clause ends
_LOOSE_END = re.compile(r"( (a|an|and|any|as|be|for|in|must|instead|is|of|or|should|that|the|to|was|with))+$")
_BEGUN = re.compile(r"\bIn relax[\w.]+\Z")  # which says only where
_SECOND = re.compile(r"(?<=\w) (?:inside an? |in a function with |when a function |with \w+=).*")
"""Where it happens, or an attribute, behind what it hangs on."""
_OPERATOR = re.compile(r"^( on relax\.[\w.]+).*")
_ATTRIBUTE = re.compile(r"^ when (\w+) of (relax\.\S+) is (?=\S)")
_WHOSE = ", whose "
_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"))
_BUILD = "build:"
"""How pipelines are called that are no pass."""
_PLACED = (", which ", " an If", " local function", " dataflow block")
"""What says already where something happens."""
_BY_CALLBACK = (Abi.LAZY_SET_OUTPUT, Abi.LAZY_TRANSFORM_PARAMS)  # programs set their outputs, and do not return them
_RESULT_TYPE = "the result type"
_DIGITS = re.compile(r"-?\d+\.\d{4,}")


def title_of(
    case: Case,
    verdict: Verdict,
    nearest: Nearest | None = None,
    alone: SingleCall | None = None,
    blame: str = "",
    minimized: bool = True,
) -> str:
    """Return the sentence; the oracle's message where nothing more is known.

    ``alone`` is the call that is accused; ``blame`` what is at fault, where it is not the judged pass.  Of a case that
    is not ``minimized`` nobody knows which of its parts the failure hangs on.
    """
    told = Told(case, verdict, nearest, alone, blame, minimized)
    tell = _death if told.evidence.is_death else _TELL.get(verdict.oracle)
    try:
        title = "" if tell is None else tell(verdict.culprit, told)
    except Exception:  # of what TVM cannot do once more with these modules; a script is worth more than its title
        title = ""
    if title.startswith((f"{verdict.culprit} ", f"{verdict.culprit}, ")) and blame and not told.names_operator:
        both = f"{blame} {'behind' if verdict.oracle is OracleName.NUMERIC else 'in'} {title}"
        title = both if len(both) <= MOST else f"{blame}{title.removeprefix(verdict.culprit)}"
    elif blame and verdict.culprit.startswith(_BUILD):
        title = title.replace(f"{verdict.culprit} ", f"{blame} ", 1)
    return _fit(title or one_line(f"{verdict.culprit}: {verdict.shown.message}"))


def _fit(head: str, when: str = "", rest: str = "", ends: str = _CLAUSE) -> str:
    """Put on one line what fits: ``when`` where it says something new, and of the rest what ``ends`` in time."""
    head, when = " ".join(head.split()), f" {when}" if when and when.removeprefix("on ") not in head + rest else ""
    room = MOST - len(head)
    first = _SECOND.sub("", when)
    when = first if len(when) + len(rest) > room >= len(first) + len(rest) else when
    short, bare = (_clause(rest, left, ends) for left in (room - len(when), room))
    if len(when) > room or (bare and not short and not when.startswith(" when")):
        on = _OPERATOR.sub(r"\1", when)
        when, short = (on, left) if (left := _clause(rest, room - len(on), ends)) else ("", bare)
    if len(head) <= MOST:
        cut_off = "" if when and ends == _CLAUSE else _words(rest, room - len(when))
        when = _ATTRIBUTE.sub(r" on \2 with \1=", when)
        return head + when + (short or cut_off)  # a message is cut only where it says all
    whole = _clause(head, MOST, _CLAUSE.replace("but|", ""))  # of which little says nothing, and less without its end
    return whole if 2 * len(whole) > MOST else _words(head, MOST) or whole or cut(head, MOST)


def _words(text: str, room: int) -> str:
    """Cut a text behind a word with which it may end, and say so; empty where little fits."""
    cut = _LOOSE_END.sub("", _clause(text, room - len(_CUT), " "))
    return cut + _CUT if len(cut) > _ENOUGH else ""


def _clause(text: str, room: int, end: str = _CLAUSE) -> str:
    """Cut a text where a clause of it ends, outside of brackets and quotes; empty where none ends in time."""
    if len(text) <= room:
        return text
    for found in reversed([*re.finditer(end, text[3:])]):
        part = text[: found.start() + 3]
        if _BEGUN.search(part):
            continue
        if len(part) <= room and not (part.count("`") % 2 or any(part.count(a) - part.count(b) for a, b in _PAIRS)):
            return part
    return ""


def _death(culprit: str, told: Told) -> str:
    details, kind = told.evidence.details, told.evidence.kind
    ran = details.stage is Phase.RUN
    at_work = "" if ran else forms_of(told.verdict).at_work
    does = _DEATHS.get(details.death or Death.SIGNAL, "crashes" if ran else "crashes the process")
    does = f"makes a program that {does}" if ran else does
    if ran and details.death in (Death.SIGNAL, Death.HANG) and told.endless:
        does = f"makes a program in which the recursion of {told.endless} does not end"
    names = {int(each): each.name for each in signal.Signals}
    ends = f": {names.get(details.code, kind)}" if details.death in (Death.SIGNAL, Death.EXIT) else ""
    return _fit(f"{culprit} {does}{f' when {at_work}' if at_work else ''}", told.when, ends)


def _crash(culprit: str, told: Told) -> str:
    steps = [step.ref for step in told.subject.plan.steps]
    runs = told.blame in {part.name for ref in steps for part in parts_of(ref)}  # not inside the culprit
    if told.blame and (runs or culprit not in {ref.name for ref in steps}):
        return _fit(f"{told.blame} makes a module on which {culprit} fails", told.when, told.error)
    if told.blame == Culprit.PRINTER:  # what the scripts themselves print is nothing that it fails on
        return _fit(f"{culprit} fails", "", told.error)
    entered = told.entered
    if entered is not None and (done := spoiled(*entered, told.evidence)):
        return _fit(f"{told.asked} {done}", "", told.error)
    if not (place := PurePath(told.evidence.details.place).name):
        made_of = "" if told.when or "relax." in told.error else told.made_of
        return _fit(f"{culprit} fails{made_of}", told.when, told.error)
    when = told.when if told.nearest or told.when.startswith("on") else ""  # the line says more than a guess
    error = told.error if " " in told.error[2:] or not told.error else f": {told.evidence.kind}{told.error}"
    return _fit(f"{culprit} fails at {place}", when, error, _SENTENCE)


def _well_formed(culprit: str, told: Told) -> str:
    evidence = told.evidence
    if evidence.kind == "ill-formed":
        for what in undefined(*told.modules):
            # Behind a clause, ``inside an If`` would seem to belong to that; and what names an If says so itself.
            clear = not told.around.startswith("inside") or not any(word in what for word in _PLACED)
            who = told.asked if len(told.asked) + len(what) < MOST else culprit
            return _fit(f"{who} {what}", told.around if clear else "")
        for what in (*contradictions(*told.modules), *_outdated(told)):
            return _fit(f"{culprit} {what}")
        said = essence(evidence)
        does = "breaks the " if said.startswith("call to ") else "makes an ill-formed module: "
        return _fit(f"{culprit} {does}{said}")
    if evidence.kind == "signature":
        each = next((each for each in told.changes if each.part in _SIGNATURE), None)
        result = each is not None and each.name == _RESULT_TYPE and _returned(each.owner, *told.modules)
        change = "" if each is None else each.change.replace(f"{_RESULT_TYPE} of {each.owner}", result or "")
        return _fit(f"{culprit} {change}", told.around) if change else ""
    if evidence.kind == "mistyped-call":
        for what in _outdated(told):
            return _fit(f"{culprit} {what}", told.around)
        for what in contradictions(*told.modules):
            return _fit(f"{culprit} {what}")
        said = f": {essence(evidence, evidence.observed)}"
        return _fit(f"{culprit} leaves a call that does not fit", told.around, said)
    given, made = map(functions_of, told.modules)
    for name, function in relax_functions(told.modules[1]):
        if not tvm_ffi.structural_equal(function.ret_ty, function.body.ty, map_free_vars=True):
            who = name if name in given else min({*given} - {*made}, default=name)
            return _fit(f"{culprit} changes what {who} returns, but not its declared result type", told.around)
    return _fit(f"{culprit} breaks a type", told.around, f": {evidence.expected}, but {evidence.observed}")


def _outdated(told: Told) -> Iterator[str]:
    """Yield the functions whose parameters or result type the pass changes, which others call."""
    yield from filter(None, [stale_call(told.modules[1])])
    called = {callee_name(getattr(each, "op", each)) for each in expressions_in(told.modules[1])}
    functions = [(name, each) for name, each in relax_functions(told.modules[0]) if name in called]
    params = {name_of(param): f"of {name}" for name, each in functions for param in each.params}
    for each in told.changes:
        what = f"the parameter {each.owner} {params.get(each.owner)}" if each.part in _RETYPED else ""
        what = _returned(each.owner, *told.modules) if each.name == _RESULT_TYPE else what
        if each.owner in (called | {*params}) and what:
            yield f"changes {what} from {each.before} to {each.after.partition(' (shape')[0]}, but not its calls"


def _returned(name: str, before: tvm.IRModule, after: tvm.IRModule) -> str:
    """Say which result of a function changes: ``the result of relax.variance in f1``; else only its type."""
    old, new = (functions_of(each)[name] for each in (before, after))
    types = zip(*(getattr(each.ret_ty, "fields", ()) for each in (old, new)), strict=False)
    fields = zip(getattr(old.body.body, "fields", ()), types, strict=False)
    result = next((each for each, pair in fields if not tvm_ffi.structural_equal(*pair)), old.body.body)
    found = (place for place in places(old) if place.var.same_as(result) and operator_of(place.value))
    return next((f"{bound(place)} in {name}" for place in found), f"{_RESULT_TYPE} of {name}")


def _postcondition(culprit: str, told: Told) -> str:
    """Tell what was lost; else what the claim says of this module, in its second line: of what is kept, what is not."""
    done, function = told.evidence.details.done, told.evidence.details.function
    kept = bool(done) and told.evidence.details.claim in _KEPT
    if not kept and any(each.part in _LOST for each in told.changes):
        return _fit(f"{culprit} {_lost(told.changes)}", told.around)
    if function:
        return _fit(essence(told.evidence, done))
    said = f" {essence(told.evidence, done)}" if done else f": {seen_line(told.evidence)}"
    how = next((f": it {each.change}" for each in told.changes if done and each.part is _GONE), "")
    return _fit(f"{culprit}{said}", "" if how else told.around, how)


def _mutation(culprit: str, told: Told) -> str:
    before, given = told.subject.prepared.reload, told.subject.module
    told.subject.chain  # noqa: B018  # running the passes is the point
    change = next((f": it {found.change}" for found in differences(before, given)), "")
    return _fit(f"{culprit} modifies its input module{change}")


def _idempotence(culprit: str, told: Told) -> str:
    first = told.modules[1]
    again = told.subject.run(first)
    if again.error is not None:
        return _fit(f"{culprit} fails on its own output", told.when, f": {essence(again.error)}")
    ill_formed = told.evidence.kind == "ill-formed"
    does = next(undefined(first, again.module)) if ill_formed else next(differences(first, again.module)).change
    how = AGAIN if len(told.who) + len(AGAIN) + len(does) <= MOST else ", run twice, "
    return _fit(f"{culprit}{how}{does}", "" if ill_formed else told.when)


def _locality(culprit: str, told: Told) -> str:
    """Tell of a module with and without what must not matter; a name that the pass gives itself is told."""
    subject = told.subject
    variation = draw(subject, reach_of(subject))
    assert variation is not None
    plain, again = subject.output, subject.run(variation.module)
    new = {*functions_of(variation.module)} - {*functions_of(subject.module)}
    taken = new if plain.module is None else new & {*functions_of(plain.module)}
    names = sorted(taken or new)
    how = (told.minimized and surroundings(variation.module)) or variation.change.words
    if len(names) == 1:
        other = subject.run(renamed(variation.module, {names[0]: f"{names[0]}_renamed"}))
        how = how if again.error and other.error else f"when a function is called `{names[0]}`"
    if (error := again.error or plain.error) is not None:
        return _fit(f"{culprit} fails", f"{'' if again.error else 'except '}{how}", f": {essence(error)}")
    said = f"{culprit}, {how}, {_apart(subject.module, plain.module, again.module)}"
    return said if len(said) <= MOST else _fit(f"{culprit} gives another result {how}")


def _apart(given: tvm.IRModule, plain: tvm.IRModule, other: tvm.IRModule) -> str:
    """Tell what a run does unlike a plain one: what it does not drop, else what first differs."""
    dropped = [{each.before for each in differences(given, one) if each.part is _GONE} for one in (plain, other)]
    found = [each.change for each in differences(plain, other) if each.part is not Part.FUNCTION_NEW]
    return next(iter([*(f"does not drop {each}" for each in sorted(dropped[0] - dropped[1])), *found]))


def _environment(culprit: str, told: Told) -> str:
    details = told.evidence.details
    if not details.error:
        run = next(environment.reruns(told.subject))
        return _fit(f"{culprit}, {details.circumstance}, {_apart(*told.modules, run.again.module)}")
    how = ", but not" if details.stage is Phase.FIRST_RUN else ""
    return _fit(f"{culprit} fails{how} {details.circumstance}", told.when, f": {essence(told.evidence, details.error)}")


def _numeric(culprit: str, told: Told) -> str:
    evidence, details, error = told.evidence, told.evidence.details, told.error
    stale = stale_call(told.modules[1])
    if stale and evidence.kind in ("does-not-build", "run-error") and not details.operator:
        return _fit(f"{culprit} {stale}", told.around)
    if evidence.kind == "does-not-build":
        what, when = f"relax.{details.operator}" if details.operator else "A module", told.when
        for done in vaguer(*told.modules, what) if details.operator else ():
            return _fit(f"{culprit} {done}, so that {what} does not build", "", error)
        for done in () if told.blame or details.operator else contradictions(*told.modules):
            return _fit(f"{culprit} {done}", when if when.startswith("when") else "", error)
        if (own := special(told.modules[1], what)).startswith(_WHOSE):
            what, when = f"{what}{own},", ""
        if when.startswith(f"on {what}"):
            what, when = when.removeprefix("on "), ""
        if told.blame and not details.operator:
            return _fit(f"{told.blame} fails behind {culprit}", f"{told.when}{_retyped(told)}", error)
        after = "" if culprit.startswith(_BUILD) else f" after {culprit}"
        return _fit(f"{what} does not build{after}", when, error)
    if evidence.kind == "run-error":
        for what in () if told.blame else contradictions(*told.modules):
            return _fit(f"{culprit} {what}", "", error)
        if unset := re.search(r"(output \d+) was never set", error):
            return _fit(f"{culprit} makes {details.entry} leave {unset[1]} unset", told.when)
        who = f"{told.blame} fails" if told.blame else f"{details.entry} fails when run"
        if told.blame == Culprit.MACHINE and (when := returning_nothing(told.modules[1])):
            return _fit(who, when, error)  # whatever makes such a function
        return _fit(f"{who} after {culprit}", told.when, error)
    _, expected, *_, seen = details.numbers or ("", "", "")
    values = f"{_rounded(seen)} instead of {_rounded(expected)}"
    if values.split()[:1] == values.split()[3:4]:  # rounded away
        values = f"{seen} instead of {expected}"
    if evidence.kind == NOT_AS_DOCUMENTED:
        given = {} if told.alone is None or told.alone.operator != details.operator else told.alone.given
        given = dict(sorted(given.items(), key=lambda item: item[0] not in details.subject))  # it is wrong without them
        if told.blame == Culprit.REDUCTIONS:
            return _fit(f"{details.operator} over a dim of 0 leaves its result uninitialized")
        if told.blame == Culprit.FLOAT8:
            return _with({}, f"{told.blame} computes zeros and subnormals", f" wrongly: {values}")
        how = "imprecisely" if is_near(expected, seen) else "wrongly"
        values_of = "" if told.alone is None else "".join(f" of {each}" for each in needed(told.alone)[:1])
        if told.alone is not None and any(not each.size for each in arrays_in(told.alone.arguments)):
            values_of = " over a dim of 0"
        return _with(given, f"{told.who} computes {details.operator}", f"{values_of} {how}: {values}")
    if evidence.kind == GRADIENT:
        calls = [each for each in expressions_in(load_module(told.case)) if operator_of(each)]
        found = [each for each in calls if operator_of(each) == details.operator or _retypes(each)]
        named = details.operator.replace("call of", "call to")  # the former is part of signatures
        operator, given = named or operator_of((found or calls)[0]), next(map(given_to, found), {})
        values = f" is {_rounded(seen)}, but finite differences give {_rounded(expected)}"
        if details.numbers and not details.numbers[0]:  # no place in it: types differ
            types = [each.partition("(")[0] for each in (seen, expected)]
            types = types if types[0] != types[1] else [seen, expected]
            values = f" has the type {types[0]}, its operand {types[1]}"
        return _with(given, f"{culprit} of {operator}", values)
    if evidence.kind not in _VALUES:
        return _fit(f"{culprit} {_WORDS.get(evidence.kind, 'changes the result of a program')}", told.when)
    returns = f"{'the shape ' if evidence.kind == 'wrong-shape' else ''}{values}"
    if evidence.kind == "wrong-structure" and culprit in CONTRACTS and CONTRACTS[culprit].abi in _BY_CALLBACK:
        return _fit(f"{culprit} makes {details.entry} set {values.replace('fields', 'outputs')}", told.when)
    if held := next(overwritten(told.modules[1]), ""):
        does = [held]
    elif told.names_operator and any(each.part in _LOST for each in told.changes):
        does = [_lost(told.changes)]
    elif told.when.startswith("when"):
        does = [f"goes wrong {told.when}"]
    elif told.is_users or not told.changes:  # which of a user's changes is wrong is told by ``rewrite`` alone
        does = []
    else:
        change, ranked = told.changes[0].change, _ranked(told.changes[0], told.modules[0])
        does = [_with_attributes(told), ranked, change, re.split(" from | with ", change)[0]]
    bare = returns.partition(" at index")[0]
    ends = [f": {details.entry} returns {end}" for end in (returns, bare)]
    lines = [f"{culprit} {each}{end}" for each in told.rewrite for end in (*ends, f": {bare}", "")]
    lines += [f"{culprit} {each}{end}" for each in does for end in (*ends, f": {bare}")]
    fits = (line for line in lines if len(line) <= MOST)
    return next(fits, "") or _fit(f"{culprit} makes {details.entry} return {returns}", told.when)


def _retyped(told: Told) -> str:
    """Say which dtype a pass gives the operands of the operator that a failure hangs on: `` of float16``."""
    old, new = (
        {str(each.args[0].ty.dtype) for each in expressions_in(module) if f"on {operator_of(each)}" == told.when}
        for module in told.modules
    )
    return f" of {new.pop()}" if len(new) == 1 and new != old else ""


def _ranked(found: Difference, module: tvm.IRModule) -> str:
    """Tell a change with the ranks of the operands of the first of its operators whose operands differ in rank."""
    for call in expressions_in(module):
        ranks = [each.ty.ndim for each in getattr(call, "args", ()) if isinstance(each.ty, relax.TensorType)]
        name = operator_of(call)
        if name and name in found.change and len({*ranks}) > 1:
            ranked = f"{name} of {' and '.join(f'{rank}-D' for rank in ranks)}"
            if found.part is Part.OPERAND:
                return f"gives {ranked} other operands"
            return found.change.replace(name, ranked, 1)
    return found.change


def _retypes(call: Any) -> bool:
    """Say whether the result of an operator has another dtype than its first operand."""
    dtypes = [getattr(each.ty, "dtype", None) for each in (call, *call.args[:1])]
    return dtypes[0] != dtypes[-1]


def _lost(changes: list[Difference]) -> str:
    """Tell all that the first call has lost which has lost an operand or an attribute."""
    first = next(each for each in changes if each.part in _LOST)
    lost = [each for each in changes if each.part in _LOST and each.owner == first.owner]
    gone = [each.name for each in lost if each.part is Part.OPERAND_GONE or each.after == "None"]
    return f"drops {', '.join(gone)} of {first.owner}" if first.name in gone else first.change


def _with_attributes(told: Told) -> str:
    """Tell what the pass changes first, with the attributes of an operator that it drops."""
    found = told.changes[0]
    if found.part in _LOST:
        return _lost(told.changes)
    gone = found.before if found.part in (Part.OPERATORS, _GONE) else ""
    calls = (each for each in expressions_in(told.modules[0]) if gone and operator_of(each) == gone)
    given = next((given_to(each) for each in calls), {})
    listed = ", ".join(f"{name}={value}" for name, value in given.items())
    return found.change.replace(gone, f"{gone}({listed})", 1) if listed else _ranked(found, told.modules[0])


def _roundtrip(culprit: str, told: Told) -> str:
    evidence = told.evidence
    if evidence.kind == UNLISTED_DEVICE:
        for what in contradictions(*told.modules):
            return _fit(f"{culprit} {what}")
        return _fit(one_line(f"{culprit}: {evidence.message}"))
    if (done := essence(evidence)).startswith(LEAVES):
        return _fit(f"{culprit} {done}")
    what = "A module" if culprit in NOTATIONS else f"The output of {culprit}"
    notation = evidence.details.notation or Notation.TVMSCRIPT
    types = [each.ty for each in expressions_in(told.modules[1]) if is_constant(each)]
    shapes = [tuple(dims) for ty in types if notation is Notation.JSON and 0 in (dims := static_dims(ty) or ())]
    held = next((f" with a constant of shape {shape}" for shape in shapes), "")
    for unread in _unread(told.modules[1], evidence):
        what, held = "A parameter", f" of type {unread}"
    when = told.when if told.when.startswith("when a variable") else ""  # what else a module has may be there by chance
    return _fit(f"{what}{held} does not round-trip through {notation}", when, f": {done}")


def _unread(module: tvm.IRModule, evidence: Evidence) -> Iterator[str]:
    """Yield the type of a parameter that TVMScript loses in the same way in a module that has nothing else."""
    for param in (each for _, function in relax_functions(module) for each in function.params):
        body = relax.SeqExpr([], relax.Tuple([]))
        alone = relax.Function([relax.Var("x", param.ty)], body, relax.TupleType([])).with_attr("global_symbol", "main")
        if loss_in_script(tvm.IRModule({"main": alone}), "main") == (evidence.kind, evidence.message):
            yield value_text(param.ty)


def _with(given: dict[str, Any], head: str, rest: str) -> str:
    """Name as many attributes behind a head as fit."""
    said = [f"{name}={value}" for name, value in given.items()]
    heads = [f"{head}{f'({listed})' if (listed := ', '.join(said[:end])) else ''}" for end in range(len(said), -1, -1)]
    lines = (f"{each}{end}" for each in heads for end in (rest, rest.partition(" at index")[0]))
    return next((line for line in lines if len(line) <= MOST), _fit(head, "", rest))


def _rounded(text: str) -> str:
    """Write numbers in four digits, but none as a whole number that is not one: -0.999995 is not -1."""
    return _DIGITS.sub(lambda found: _short(found[0]), text)


def _short(number: str) -> str:
    short = f"{float(number):.4g}"
    return short if float(short).is_integer() == float(number).is_integer() else number


_TELL: dict[OracleName, Callable[[str, Told], str]] = {
    OracleName.CRASH: _crash,
    OracleName.WELL_FORMED: _well_formed,
    OracleName.POSTCONDITION: _postcondition,
    OracleName.MUTATION: _mutation,
    OracleName.DETERMINISM: lambda culprit, _: f"{culprit} gives different modules for the same input",
    OracleName.SEQUENTIAL: lambda culprit, _: f"{culprit} inside Sequential does not do what a direct call does",
    OracleName.IDEMPOTENCE: _idempotence,
    OracleName.ROUNDTRIP: _roundtrip,
    OracleName.LOCALITY: _locality,
    OracleName.ENVIRONMENT: _environment,
    OracleName.NUMERIC: _numeric,
}
