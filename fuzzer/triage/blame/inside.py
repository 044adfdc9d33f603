"""Blame a pass, or a function, that runs inside of the judged pass, where it does the same by itself."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
from collections.abc import Callable, Collection, Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.relax.dpl import is_op, rewrite_call, wildcard
from tvm.relax.utils import copy_with_new_vars

from fuzzer.core.case import Case
from fuzzer.findings.assessment import Blame, Culprit, raised_by_printer
from fuzzer.triage.blame.failed_case import SIGNATURE, FailedCase, calls_in, made_by, misread, same, shows, unsound
from fuzzer.triage.blame.inference import Rebuilder
from fuzzer.triage.blame.operators import retyped
from fuzzer.triage.traits import ELEMENTARY
from oracles.core.blame import first_writer, first_wrong, inner_pass, names_inside
from oracles.core.evidence import evidence_of, names_any
from oracles.core.function_signatures import changed_signature
from oracles.core.module_facts import apply, complaint
from oracles.core.objection import difference
from oracles.core.verdict import Verdict
from oracles.structural.roundtrip_forms import loss_in_json
from relaxkit.ir.call_types import ill_typed_call
from relaxkit.ir.functions import relax_functions, relax_items
from relaxkit.ir.walk import operator_of, places
from relaxkit.passes.arguments import patterns_in
from relaxkit.passes.claims.analysis import use_missed
from relaxkit.passes.contract import OracleName, Ran, Trait
from relaxkit.passes.contracts import CONTRACTS, the_pass


def _rewriters(module: Any) -> Iterator[Any]:
    """Yield passes that rewrite all expressions, or all calls of an operator, as themselves by their pattern."""

    def rewriter(pattern: Any, same: Callable[[Any, Any], Any]) -> Any:
        return relax.transform.function_pass(lambda function, *_: rewrite_call(pattern, same, function), opt_level=0)

    yield rewriter(wildcard(), lambda call, _: call)
    for operator, count in dict.fromkeys((operator_of(each), len(each.args)) for each in calls_in(module)):
        parts = [wildcard() for _ in range(count)]
        yield rewriter(is_op(operator)(*parts), functools.partial(_made_of, parts))


def _made_of(parts: list[Any], call: Any, found: Any) -> Any:
    """Make a call once more, of what the parts of its pattern have matched."""
    return relax.Call(call.op, [found[part] for part in parts], call.attrs, call.ty_args)


_RELOADED = "loads-otherwise"
_PARTS: dict[str, Callable[[Any], Iterator[Any]]] = {
    "relax.dpl.rewrite_call": _rewriters,
    "relax.utils.copy_with_new_vars": lambda _: iter(
        [relax.transform.function_pass(lambda function, *_: copy_with_new_vars(function), opt_level=0)]
    ),
    "s_tir.renew_defs": lambda _: iter(
        [tvm.tirx.transform.prim_func_pass(lambda kernel, *_: tvm.s_tir.renew_defs(kernel), opt_level=0)]
    ),
}
"""Functions, no passes, that passes call (``Contract.inside``), as passes that do nothing else to a module."""


def _passes(inside: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Yield the elementary passes among what is inside of a pass."""
    return ((name, getattr(relax.transform, name)()) for name in ELEMENTARY if name in inside)


def _functions(inside: Collection[str], module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the other passes among what is inside of a pass, and its functions, as passes by themselves."""
    passes = {name for name in inside if name in CONTRACTS} - {name for name, _ in _passes(inside)}
    yield from ((name, getattr(relax.transform, name)()) for name in sorted(passes))
    yield from ((name, each) for name in _PARTS if name in inside for each in _PARTS[name](module))


def passes_inside(case: Case, verdict: Verdict) -> tuple[str, tuple[str, ...]]:
    """Return, in a worker, the innermost public pass that first gives a wrong module, and all that run inside."""
    failed = FailedCase(case, verdict)
    if failed.index is None:
        return "", ()
    built, contract = failed.built, failed.step.contract
    entered = failed.made if verdict.oracle is OracleName.IDEMPOTENCE else failed.given
    signed = functools.partial(changed_signature, entered)
    wrong: Any = {"ill-formed": complaint, SIGNATURE: signed, _RELOADED: loss_in_json}.get(failed.evidence.kind)
    # What a pass inside takes away (a kernel, for instance) may be all that hid what the outer one has made.
    first = wrong and inner_pass(built, entered, wrong, innermost=failed.evidence.kind != _RELOADED)
    parts = () if contract.composed else (*contract.inside, *names_inside(built, entered))
    return first or "", tuple(name for name in parts if name in CONTRACTS)


def pass_inside(failed: FailedCase) -> Blame | None:
    """Find the pass, or the function, inside of the judged one that does the same by itself."""
    step, given, elementary = failed.step, failed.given, failed.elementary
    # Its own is asked first: to see what runs inside is to run the pass once more.
    if not failed.is_own and elementary not in (*step.contract.inside, *names_inside(failed.built, given)):
        return None
    made = ((name, apply(each, given).module) for name, each in _functions(step.contract.inside, given))
    shown = (
        name
        for name, module in made
        if module is not None and shows(module, failed.evidence) and not _only_shares(failed, module)
    )
    name, reason = next(shown, "") if failed.is_own else elementary, "it fails in the same way by itself"
    if name in _PARTS and (inner := _spoiling(step.contract.inside, given)):
        name, reason = inner, "it makes an ill-formed or ill-typed module of the same input by itself"
    return Blame(name, f"{reason}, and {step.ref.name} runs it") if name else None


def _spoiling(inside: Collection[str], module: Any) -> str:
    """Return the first of the elementary passes inside that makes an ill-formed module of a well-formed one, if any."""
    made = ((name, apply(each, module).module) for name, each in _passes(inside))
    found = (name for name, other in made if other is not None and unsound(other))
    return "" if unsound(module) else next(found, "")


def nothing_else(failed: FailedCase) -> Blame | None:
    """Blame what runs inside of the judged pass, where both runs of that do the same to the module."""
    step, given, once = failed.step, failed.given, failed.made
    inside, runs = step.contract.inside, [(given, once), (once, apply(failed.built, once).module)]
    for name, part in itertools.chain(_passes(inside), _functions(inside, given)):
        made = [(apply(part, entered).module, left) for entered, left in runs]
        if all(None not in pair and tvm_ffi.structural_equal(*pair, map_free_vars=True) for pair in made):
            return Blame(name, f"it does the same to the module by itself, and {step.ref.name} runs it")
    return None


def sharing(failed: FailedCase) -> Blame | None:
    """Blame the elimination of common subexpressions, where the pass runs it on a module that it has given some."""
    if not failed.is_own or _repeating(failed) is None:
        return None
    reason = "it fails in the same way by itself where each use of a value has a computation of its own"
    return Blame(the_pass(Trait.SHARES), f"{reason}, and {failed.step.ref.name} runs it")


def _only_shares(failed: FailedCase, module: Any) -> bool:
    """Say whether the pass misreads something else than such a module does, and that for what it shares."""
    misread_here = set() if failed.made is None else misread(failed.made)
    return bool(misread_here) and not misread_here & misread(module) and _repeating(failed) is not None


def _repeating(failed: FailedCase) -> Any:
    """Return a module that the elimination fails on in the same way by itself; ``None`` without one.

    Nobody sees what it is given inside of a pass.  But passes read a value anew at each use, and leave it to the
    elimination to find out that it is the same: the values are parameters of their input, or calls, as in their output.
    """
    given, output = failed.given, failed.made
    if the_pass(Trait.SHARES) not in failed.step.contract.inside or output is None:
        return None
    params = [param for _, function in relax_functions(given) for param in function.params]
    bound = {place.var: place.value for _, function in relax_functions(output) for place in places(function)}
    reads = {each: relax.op.call_pure_packed("value", each, ty_args=each.ty) for each in params}
    calls = {var: value for var, value in bound.items() if isinstance(value, relax.Call)}
    for module, repeated in ((given, reads), (output, calls)):
        with contextlib.suppress(Exception):  # a module that cannot be rebuilt
            copied = Rebuilder(module, repeated).module()
            shared = made_by(Trait.SHARES, copied)
            rebuilding = (each for each in ELEMENTARY if Trait.REBUILDS in CONTRACTS[each].traits)
            alone = [copied, *(apply(getattr(relax.transform, each)(), copied).module for each in rebuilding)]
            innocent = complaint(copied) is None and not any(shows(each, failed.evidence) for each in alone)
            if innocent and shared is not None and shows(shared, failed.evidence):
                return copied
    return None


def inside_alone(case: Case, verdict: Verdict, blame: str) -> tuple[Case, Verdict] | None:
    """Return, in a worker, the case of the pass inside that is to blame alone, and how it fails there, if it does."""
    failed = FailedCase(case, verdict)
    if failed.index is None or blame not in failed.step.contract.inside or blame not in CONTRACTS:
        return None
    module = _repeating(failed) if blame == the_pass(Trait.SHARES) else failed.given
    return None if module is None else next(failed.alone(module, blame, OracleName.WELL_FORMED), None)


def analysis_inside(failed: FailedCase) -> Blame | None:
    """Blame an analysis that the pass asks, where it is wrong of a variable that the pass takes out of its block."""
    functions = [] if failed.made is None else [function for _, function in relax_functions(failed.made)]
    undefined = {str(var.name) for function in functions for var in _undefined(function)}
    for question in inspect.unwrap(use_missed)(Ran(failed.given, failed.given, {})) if undefined else ():
        name, read, block = question.asked, question.of["read"], {each.var for each in question.of["block"].bindings}
        taken = read in block and read.name in undefined
        if taken and name in failed.step.contract.inside and question.contradiction():
            return Blame(name, f"what it says of {read.name} is wrong, and {failed.step.ref.name} asks it")
    return None


def _undefined(function: Any) -> Iterator[Any]:
    """Yield the variables that bindings of a function use before it has defined one of their name, if it does."""
    defined = {str(param.name) for param in function.params}
    for place in places(function):
        yield from (var for var in relax.analysis.free_vars(place.value) if str(var.name) not in defined)
        defined.add(str(place.var.name))


def nested(failed: FailedCase) -> Blame | None:
    """Blame the block builder for blocks that it splits for the bodies of functions, which inlining gives it."""
    copies = "relax.utils.copy_with_new_vars" in failed.step.contract.inside
    if not copies or not names_any(failed.evidence, ["DataflowVar "]):
        return None
    with contextlib.suppress(Exception):  # a module that cannot be rebuilt
        if shows(Rebuilder(failed.given, inlines=True).module(), failed.evidence):
            return Blame(
                str(Culprit.BUILDER), "it does the same to bodies of functions in the place of calls, by itself"
            )
    return None


def spoiler(failed: FailedCase) -> Blame | None:
    """Blame the innermost pass that makes an ill-formed module of a well-formed one, before another pass raises."""
    if unsound(failed.given) or not (running := first_wrong(failed.built, failed.given, unsound)):
        return None
    (maker, entered), reason = running[-1], "it makes an ill-formed or ill-typed module, which a later pass rejects"
    parts = CONTRACTS[maker].inside if maker in CONTRACTS else ()
    name = _spoiling(parts, entered)  # functions, which no instrument sees
    return Blame(name, f"{maker} calls its function, and {reason}") if name else Blame(maker, reason)


def stale(failed: FailedCase) -> Blame | None:
    """Blame the pass, or the lowering, that changes the type of a function, but not that of a call to it.

    TVM's checker asks a ``GlobalVar``, which remembers the type of its function as it was.
    """

    known = dict(relax_functions(failed.given)) if failed.evidence.kind == SIGNATURE else {}
    pairs = [(name, known[name], each) for name, each in relax_functions(failed.made) if name in known]
    other = {name for name, old, new in pairs if difference(old.ret_ty, new.ret_ty) is not None}

    def leaves(module: Any) -> bool:
        found = ill_typed_call(module, devices=False)
        # In the words of TVM's checker.
        calls = [f"expression {var.name_hint}(" for var, _ in relax_items(module)]
        return found is not None and (found[1] in other or names_any(failed.evidence, calls))

    running = [each for each in first_wrong(failed.built, failed.given, leaves) if each[0] in CONTRACTS]
    if not running or running[-1][0] in (failed.verdict.culprit, failed.step.ref.name):
        return None
    name, entered = running[-1]
    lowered = retyped(failed, entered) if Trait.LEGALIZES in CONTRACTS[name].traits else None
    return lowered or Blame(name, "it changes the type of a function, but not that of a call to it")


def matcher(failed: FailedCase) -> Blame | None:
    """Blame the matcher of patterns, where it raises the same error of a pattern and a value alone."""
    patterns = [*patterns_in(failed.step.ref.expression)]
    for _, function in relax_functions(failed.given) if patterns else ():
        bound = relax.analysis.get_var2val(function)
        for pattern, place in itertools.product(patterns, places(function)):
            try:
                pattern.match(place.value, bound)
            except Exception as error:
                if same(evidence_of(error), failed.evidence):
                    return Blame(str(Culprit.MATCHER), "matching alone raises the same error")
    return None


def printer(failed: FailedCase) -> Blame | None:
    """Blame the printer of TVMScript for what it raises."""
    by_printer = raised_by_printer(failed.evidence)
    return Blame(str(Culprit.PRINTER), "it raises the error while it prints") if by_printer else None


def writer(failed: FailedCase) -> Blame | None:
    """Find the innermost pass, of Relax or TIR, that modifies its input module."""
    judged = failed.step.ref
    name = "" if failed.subject.facts is None else first_writer(judged.build(), failed.given)
    return None if name in ("", judged.name) else Blame(name, f"it modifies its input, inside {judged.name}")
