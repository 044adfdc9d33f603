"""What is asked of a user's pass besides: is TVM at fault without it, and what does it do that no contract speaks of?

TVM has defects that show on drawn modules whatever the pass does. So a failure of a user's pass is asked of a
*control*, too: the same module under an identity that rebuilds the functions which the pass changed. What fails there
in the same way is TVM's, and is skipped. So is what TVM's ``rewrite_call`` breaks, which cleans up behind each rewrite:
the rewrites alone are right, and fail in the same way once TVM's passes that clean up have run behind them.

A pass without a contract has promised neither idempotence, nor locality, nor what it keeps. It is asked nevertheless;
where it does not hold, the verdict carries a *note*, which names the field of a contract that would promise or waive
it. A note fails nothing.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.relax.dpl import _ffi
from tvm.relax.dpl import rewrite as dpl
from tvm.relax.expr_functor import PyExprMutator, mutator

from oracles.core.module_facts import apply, equal, load
from oracles.core.notes import uncovered
from oracles.core.subject import Subject
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.ir.equality import describe
from relaxkit.ir.functions import functions_by_name
from relaxkit.ir.walk import operators_called
from relaxkit.passes.claims.kept import KEPT
from relaxkit.passes.contract import Contract, Idempotence, Kept, Locality, OracleName
from relaxkit.passes.contracts import is_users
from relaxkit.passes.pass_ref import GivenPass, PassRef

Ask = Callable[[Subject, Iterable[OracleName]], list[Verdict]]
"""Gives the verdicts of some oracles on a subject."""

TVM_ALONE = "TVM fails the same way without the pass"
CLEANED = "TVM's clean-up after rewrite_call causes the failure"
LATER_EDIT = "a later run modified the input module"

_UNSAID: tuple[tuple[Callable[[Contract], bool], dict[str, Any]], ...] = (
    (lambda contract: contract.idempotence is Idempotence.UNKNOWN, {"idempotence": Idempotence.IDEMPOTENT}),
    (lambda contract: contract.locality is Locality.UNKNOWN, {"locality": Locality.FUNCTION}),
    (lambda contract: contract.changes == frozenset(Kept), {"changes": frozenset[Kept]()}),
)
"""When a contract leaves something open, and what is asked then."""
_NOTES = {
    OracleName.IDEMPOTENCE: (
        "Running the pass a second time changes the module again", "idempotence=Idempotence.NEVER",
        "idempotence=Idempotence.IDEMPOTENT",
    ),
    OracleName.LOCALITY: (
        "An unrelated function decides what the pass does", "locality=Locality.MODULE", "locality=Locality.FUNCTION"
    ),
}  # fmt: skip
"""What is noted, and the field of a contract that allows or forbids it."""


@mutator
class _Rebuild(PyExprMutator):
    """Visits everything and changes nothing."""


@tvm.transform.module_pass(opt_level=0, name="Identity")
class Identity:
    """An identity that builds functions anew, by default all of Relax."""

    def __init__(self, names: Iterable[str] | None = None) -> None:
        self.names = None if names is None else frozenset(names)

    def transform_module(self, module: tvm.IRModule, context: Any) -> tvm.IRModule:
        """Rebuild them."""
        rebuild = _Rebuild(module)
        for var, function in module.functions_items():
            if isinstance(function, relax.Function) and (self.names is None or str(var.name_hint) in self.names):
                rebuild.builder_.update_func(var, rebuild.visit_expr(function))
        return rebuild.builder_.get()


def considered(subject: Subject, verdicts: list[Verdict], ask: Ask) -> list[Verdict]:
    """Return the verdicts on a user's pass without what is TVM's, and with what is worth a note."""
    if not subject.ran or not any(map(is_users, subject.passes)) or isinstance(subject.passes[0], _ControlPass):
        return verdicts
    verdicts = [_seen_later(subject, verdict) for verdict in verdicts]
    wanted = {verdict.oracle for verdict in verdicts}
    noted = {} if subject.is_pipeline else _noted(subject, wanted, ask)
    failed = [each for each in (*verdicts, *noted.values()) if each.outcome is Outcome.FAIL]
    alone = ask(_control(subject), {each.oracle for each in failed}) if failed else []
    tvms = {_essence(each) for each in alone if each.outcome is Outcome.FAIL}
    wrong = {each.oracle for each in verdicts if each.outcome is Outcome.FAIL}
    cleaned = _broken_behind(subject, wrong, ask) if wrong else set()
    considered = []
    for verdict in verdicts:
        note = noted.get(verdict.oracle)
        undone = verdict.oracle is OracleName.POSTCONDITION  # an identity does not do what a pass claims to do
        if verdict.outcome is Outcome.FAIL and not undone and _essence(verdict) in tvms:
            considered.append(replace(verdict, outcome=Outcome.SKIP, reason=TVM_ALONE, evidence=None))
        elif verdict.outcome is Outcome.FAIL and _essence(verdict) in cleaned:
            considered.append(replace(verdict, outcome=Outcome.SKIP, reason=CLEANED, evidence=None))
        elif verdict.outcome is not Outcome.FAIL and note is not None and _essence(note) not in tvms:
            considered.append(replace(verdict, note=_note(note)))
        else:
            considered.append(verdict)
    return considered


def _broken_behind(subject: Subject, oracles: set[OracleName], ask: Ask) -> set[tuple[str, ...]]:
    """Return how a pass fails behind whose calls of ``rewrite_call`` TVM cleans up, and not without that."""
    calls: list[Any] = []
    alone = _with(subject, lambda ref: _rewriting_alone(ref.build(), calls))
    if alone.facts is None or alone.output.error is not None or not calls:
        return set()
    right = {each.oracle for each in ask(alone, oracles) if each.outcome is Outcome.PASS}
    cleaned = _with(subject, lambda ref: _rewriting_alone(ref.build(), calls, _clean_up()))
    return {_essence(each) for each in ask(cleaned, right) if each.outcome is Outcome.FAIL} if right else set()


def _clean_up() -> list[Any]:
    """Build what ``PatternMatchingMutator`` runs behind each rewrite while it changes anything."""
    clean = relax.transform
    return [clean.CanonicalizeBindings(), clean.EliminateCommonSubexpr(), clean.DeadCodeElimination()] * 2


@contextlib.contextmanager
def _rewriters(*instead: tuple[str, Any]) -> Iterator[None]:
    """Let TVM's functions that rewrite by patterns be others."""
    before = [(name, getattr(_ffi, name)) for name, _ in instead]
    try:
        for name, function in instead:
            setattr(_ffi, name, function)
        yield
    finally:
        for name, function in before:
            setattr(_ffi, name, function)


def _rewriting_alone(built: Any, calls: list[Any], behind: Sequence[Any] = ()) -> Any:
    """Return a pass whose calls of ``rewrite_call`` only rewrite, and are told; others run ``behind``."""
    match = _ffi.rewrite_call

    def rewrite(pattern: Any, rewriter: Callable[[Any, Any], Any], function: Any) -> Any:
        def record(given: Any, matched: Any) -> Any:
            if not tvm_ffi.structural_equal(made := rewriter(given, matched), given):
                found.append((given, made))
            return given  # so that nothing is rewritten, and there is nothing to clean up

        calls.append(function)
        for _ in range(8):
            found: list[tuple[Any, Any]] = []
            match(pattern, record, function)
            if not found:
                return function
            function = _Replace(found).visit_expr(function)
            function = tvm.transform.Sequential([*behind])(tvm.IRModule({"main": function}))["main"]
        raise ValueError("rewriting does not end")

    def transform(module: tvm.IRModule, _: Any) -> tvm.IRModule:
        with _rewriters(("rewrite_call", rewrite)):
            return tvm.transform.Sequential([*behind])(built(module))

    return tvm.transform.module_pass(transform, opt_level=0, name="RewritingAlone")


@mutator
class _Replace(PyExprMutator):
    """Puts other values into bindings, each once as it may hold what it stands for; their variables stay."""

    def __init__(self, found: list[tuple[Any, Any]]) -> None:
        super().__init__()
        self.found = found

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        """Put it in."""
        for index, (given, _) in enumerate(self.found):
            if tvm_ffi.structural_equal(binding.value, given):
                made = self.builder_.normalize(self.visit_expr(self.found.pop(index)[1]))
                self.builder_.emit_normalized(relax.VarBinding(binding.var, made))
                break
        else:
            super().visit_var_binding_(binding)


def _seen_later(subject: Subject, verdict: Verdict) -> Verdict:
    """Let the mutation oracle see an edit of the input that came after the first run, too."""
    facts = subject.facts
    if verdict.oracle is not OracleName.MUTATION or verdict.outcome is not Outcome.PASS:
        return verdict
    if facts is None or not facts.modified():
        return verdict
    before = subject.original_facts if facts is subject.original_facts else facts
    observed = describe(before.reload, facts.module) if before.reload is not None else ""
    evidence = Evidence("mutated", LATER_EDIT, expected="the input module stays as it was", observed=observed)
    return replace(verdict, outcome=Outcome.FAIL, evidence=evidence)


def _noted(subject: Subject, wanted: set[OracleName], ask: Ask) -> dict[OracleName, Verdict]:
    """Return the failures of what a contract leaves open."""
    stricter = subject.contract
    for is_open, asked in _UNSAID:
        if is_open(subject.contract):
            stricter = replace(stricter, **asked)
    if stricter == subject.contract or subject.output.error is not None:
        return {}
    curious = _like(subject, subject.passes, [stricter])
    oracles = {OracleName.IDEMPOTENCE, OracleName.LOCALITY, OracleName.POSTCONDITION} & wanted
    return {each.oracle: each for each in ask(curious, oracles) if each.outcome is Outcome.FAIL}


def _note(failure: Verdict) -> str:
    claim, name = failure.shown.details.claim, failure.culprit
    kept = next((each for each, condition in KEPT.items() if condition.claim == claim), None)
    lost = f"The pass drops or changes {kept.value}" if kept else f"The pass breaks '{claim}'"
    said, allowing, forbidding = _NOTES.get(
        failure.oracle, (lost, f"changes=frozenset({{{kept}}})", "changes=frozenset()")
    )
    return uncovered(said, name, allowing, forbidding)


class _ControlPass(GivenPass):
    """The identity, in the place of a pass."""


def _control(subject: Subject) -> Subject:
    after = subject.output.module
    return _with(subject, lambda _: Identity(None if after is None else _changed(subject.module, after)))


def _with(subject: Subject, control: Callable[[PassRef], Any]) -> Subject:
    """Return the subject with controls in the place of the user's passes."""
    passes = [_ControlPass(ref.name, "<control>", control(ref)) if is_users(ref) else ref for ref in subject.passes]
    return _like(subject, passes, subject.contracts)


def _like(subject: Subject, passes: Sequence[PassRef], contracts: Sequence[Contract]) -> Subject:
    """Return a subject on a copy of the module as it was: the pass may have edited the one that it was given."""
    return Subject(load(subject.original_facts.snapshot) or subject.original, passes, contracts, subject.input_seed)


def rewritten(subject: Subject) -> bool:
    """Say whether the passes changed the module by more than what TVM does by itself when a user's pass runs.

    What ``PyExprMutator`` does where nothing is overridden, such as joining dataflow blocks, is no work of the pass;
    nor is what TVM's rewriters clean up where their callbacks return the call itself.
    """
    return bool(own_changes(subject))


def own_changes(subject: Subject) -> list[tuple[tvm.IRModule, tvm.IRModule]]:
    """Return the module without and with what the passes did themselves: none where they did nothing.

    There are two pairs where a user's pass rewrites by patterns and otherwise, too.
    """
    if not subject.ran or not subject.changed:
        return []
    after = subject.output.module
    if not all(map(is_users, subject.passes)):
        return [(_given(subject), after)]
    called: list[bool] = []
    inert = _rerun(subject, _INERT, called)
    if not called:
        return [] if equal(rebuilt := _rebuilt(_given(subject), after), after) else [(rebuilt, after)]
    absent = _rerun(subject, _ABSENT, called)
    given = _given(subject)  # only now: in the runs above the pass may have written into its input
    rebuilt = _rebuilt(given, absent)
    pairs = [] if equal(inert, after) else [(_cleaned(inert, after), after)]
    return pairs if equal(given, absent) or equal(rebuilt, absent) else [*pairs, (rebuilt, absent)]


def without_dead_code(*modules: tvm.IRModule) -> Iterator[tvm.IRModule]:
    """Yield modules without code whose results nothing uses; as they are where TVM cannot drop it."""
    tidy = relax.transform.DeadCodeElimination()
    return (apply(tidy, each).module or each for each in modules)


def own_calls(subject: Subject, changes: Sequence[tuple[tvm.IRModule, ...]]) -> tuple[Counter[str], ...]:
    """Count the calls that the passes removed and added in some changes, by operator.

    Behind ``rewrite_call`` TVM merges calls that a rewrite has made equal, and without that the operands of a rewrite
    may be there twice: what both ways have in common is the work of the pass. The changes are :func:`own_changes`
    without dead code: passes that remove it besides would seem to rewrite what they only tidy.
    """
    removed, added = Counter[str](), Counter[str]()
    for before, after in (map(operators_called, pair) for pair in changes):
        removed += before - after
        added += after - before
    calls: list[Any] = []
    alone = _with(subject, lambda ref: _rewriting_alone(ref.build(), calls))
    if alone.output.module is not None and calls:
        before, after = map(operators_called, without_dead_code(_given(alone), alone.output.module))
        removed, added = removed & (before - after), added & (after - before)
    return removed, added


def _given(subject: Subject) -> tvm.IRModule:
    """Return the prepared module: the object itself while it is as it was, since functions of a copy never equal."""
    facts = subject.prepared
    return load(facts.snapshot) or facts.module if facts.modified() else facts.module


def _rerun(subject: Subject, rewriters: Iterable[tuple[str, Callable[..., Any]]], called: list[bool]) -> tvm.IRModule:
    """Return what the passes make of the module where TVM's rewriters are others; the module where they fail."""

    def told(original: Any, rewriter: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            called.append(True)
            return rewriter(original, *arguments)

        return call

    subject.prepared.observe()  # the pass may write into it
    given = _given(subject)
    with _rewriters(*((name, told(getattr(_ffi, name), rewriter)) for name, rewriter in rewriters)):
        return subject.run(given).module or given


def _inert(rewriter: Any) -> Any:
    """Return a rewriter of the same patterns that leaves each match as it is."""
    if isinstance(rewriter, dpl.OrRewriter):
        return dpl.OrRewriter(_inert(rewriter.lhs), _inert(rewriter.rhs))
    if isinstance(rewriter, dpl.TupleRewriter):
        return dpl.TupleRewriter(rewriter.patterns, lambda *_: None)
    return dpl.ExprPatternRewriter(rewriter.pattern, lambda *_: None)


_INERT: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("rewrite_call", lambda original, pattern, _, function: original(pattern, lambda call, _: call, function)),
    ("rewrite_bindings", lambda original, context, _, function: original(context, lambda *_: {}, function)),
    ("PatternMatchingRewriterApply", lambda original, rewriter, given: original(_inert(rewriter), given)),
)
"""Rewriters whose callbacks return the call itself."""
_ABSENT = tuple((name, lambda *arguments: arguments[-1]) for name, _ in _INERT)
"""No rewriters at all."""


def _rebuilt(given: tvm.IRModule, after: tvm.IRModule) -> tvm.IRModule:
    """Return the module with the functions built anew that came out otherwise."""
    return apply(Identity(_changed(given, after)), given).module or given


def _cleaned(inert: tvm.IRModule, after: tvm.IRModule) -> tvm.IRModule:
    """Clean up the functions that were rewritten: TVM does so behind a rewrite, also what has nothing to do with it."""
    cleaned = inert
    for each in _clean_up():
        cleaned = apply(each, cleaned).module or cleaned
    names, clean = _changed(inert, after), functions_by_name(cleaned)
    functions = {
        name: clean.get(name, each) if name in names else each for name, each in functions_by_name(inert).items()
    }
    return tvm.IRModule(functions)


def _changed(before: tvm.IRModule, after: tvm.IRModule) -> list[str]:
    """Return the functions that come out otherwise."""
    old, new = functions_by_name(before), functions_by_name(after)
    return [name for name in old if not tvm_ffi.structural_equal(old[name], new.get(name))]


def _essence(verdict: Verdict) -> tuple[str, ...]:
    """Return what two failures of one cause have in common, whatever the module."""
    evidence = verdict.shown
    place = evidence.frames[:1] or (evidence.message.partition("\n")[0],)
    return (verdict.oracle.value, evidence.kind, *place)
