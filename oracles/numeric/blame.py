"""Whom the numeric oracle blames: the pass of a pipeline, or the pass inside a composed one."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import tvm
from tvm import relax
from tvm.tirx import PrimFunc

from oracles.calling import NoAdapter
from oracles.core.applicability import tolerated
from oracles.core.blame import PassTrace
from oracles.core.evidence import evidence_of, names_any, unbuildable
from oracles.core.module_facts import complaint, target
from oracles.core.verdict import Evidence
from oracles.measure.interpret import Interpreted, compare_interpreted, interpretable
from oracles.measure.original import Original
from oracles.numeric.compare_call import candidate_of, promise_of
from oracles.numeric.compare_programs import Candidate, Finding, Undecidable, examine
from oracles.numeric.repeated_calls import OF_MEMORY
from relaxkit.ir.walk import operators_called
from relaxkit.passes.claims.common import placed
from relaxkit.passes.claims.restructure import impure_closures_called_as_pure
from relaxkit.passes.contract import Abi, Trait
from relaxkit.passes.contracts import CONTRACTS, the_pass
from relaxkit.passes.limits import carried_over_a_call
from relaxkit.runtime import ExecMode
from relaxkit.runtime.compile.kernels import Checks, compile_object
from relaxkit.runtime.compile.lowering import lower

LEGALIZATION = the_pass(Trait.LEGALIZES)
_LIFTING = the_pass(Trait.LIFTS_CLOSURES)


def culprit_of(subject: Any, original: Original, finding: Finding) -> str:
    """Name of the first pass after which something is wrong, or of that which left what a later one does not survive.

    Where an effect is lost, that which declared it away.

    Raises:
        Undecidable: It was there before all passes, and needed by nobody; or an earlier pass has broken something else,
            or gives an ill-formed module, which a later one need not survive.
    """
    steps = subject.plan.steps
    index = _first_failing(subject, original, finding)
    for before in range(index):
        if not tolerated(complaint(subject.chain[before].module), steps[: before + 1]):
            raise Undecidable("an earlier pass returns an ill-formed module")
    step = steps[index]
    entered = original.module if index == 0 else subject.input_of(index)
    earlier = [each.name for each in (*subject.plan.prepare, *(each.ref for each in steps[:index]))]
    if finding.evidence.kind == "other-effects":  # _LIFTING says that a call has none; who believes it is not to blame
        # Before it has run a pass can lose an effect by itself: what it gives must have the call still.
        asked_of = [entered] if _LIFTING in earlier else [_lifted(entered), _lifted(subject.chain[index].module)]
        if all(any(impure_closures_called_as_pure(each)) for each in asked_of):
            return _LIFTING
    placing = [each for each in steps[index + 1 :] if Trait.PLACES in each.contract.traits]
    if placing and carried_over_a_call(finding.evidence, subject.chain[index].module):
        return str(placing[0].ref.name)
    legalized = LEGALIZATION in earlier
    asked = finding.evidence.kind == "does-not-build" and (legalized or not finding.unlegalized)
    if asked and _stood_there(entered, finding):  # dead, until a later pass made a user of it
        if legalized:
            return LEGALIZATION
        raise Undecidable("a dead kernel of the module cannot be compiled")
    if asked and not legalized and _retyped(entered, finding.evidence):
        return LEGALIZATION
    # Behind the last step numeric.py has asked the same: what still means the same is lowered to something else.
    wrong = finding.evidence.kind == "wrong-value" and index < len(steps) - 1
    if wrong and _means_the_same(original, subject, index, finding):
        return LEGALIZATION  # it may read an operand only where that is a constant
    if step.contract.composed and not finding.unlegalized:
        return _inner(subject, original, index, finding) or str(step.ref.name)
    return str(step.ref.name)


def _means_the_same(original: Original, subject: Any, index: int, finding: Finding) -> bool:
    """Say whether what a step gives, in operators still, has the results of the original by their documentation."""
    steps = subject.plan.steps[: index + 1]
    adapted = any(step.contract.abi not in (Abi.SAME, Abi.ADDS_FUNCTIONS) for step in steps)
    if not subject.defined or not interpretable(steps, adapted):
        return False
    given = subject.chain[index].module
    said = compare_interpreted(original.module, given, original.seed, original.given, finding.variation)
    return said is Interpreted.EQUAL


def _lifted(module: Any) -> Any:
    try:
        with target():
            return relax.transform.LambdaLift()(module)
    except Exception:
        return module  # it is judged for that by itself


def _stood_there(module: Any, finding: Finding) -> bool:
    """Say whether a module holds what cannot be built: a call of an operator, or a kernel."""
    if finding.unlegalized:
        operator = finding.evidence.details.operator
        return bool(operator) and f"relax.{operator}" in operators_called(module)
    return any(
        _not_compiled(function) == finding.evidence.message
        for function in module.functions.values()
        if isinstance(function, PrimFunc)
    )


def _retyped(module: Any, error: Evidence) -> bool:
    """Say whether LegalizeOps gives a value of a module another dtype, and both are what cannot be put together.

    A call whose legalization computes in another dtype (roi_align of float16, mean of int16) builds as long as nobody
    computes with what it gives; what a pass then adds (a loss) does not build.
    """
    try:
        with target():
            after = relax.transform.LegalizeOps()(module)
    except Exception:
        return False  # it is judged for that by itself
    before, now = _dtypes(module), _dtypes(after)
    for name in before.keys() & now.keys():
        given = now[name] - before[name]
        if names_any(error, given) and names_any(error, before[name]):
            return True
    return False


def _dtypes(module: Any) -> dict[tuple[str, str], set[str]]:
    """Dtypes of the tensors that are bound, by the names of function and variable."""
    found: dict[tuple[str, str], set[str]] = {}
    for name, place in placed(module):
        var = place.var
        if isinstance(var.ty, relax.TensorType):
            found.setdefault((name, str(var.name)), set()).add(str(var.ty.dtype))
    return found


def _not_compiled(function: Any) -> str:
    """Return the message of the evidence that a kernel cannot be compiled by itself; empty when it can."""
    try:
        compile_object({"kernel": function}, checks=Checks.TVM)
    except Exception as error:
        return unbuildable(evidence_of(error)).message
    return ""


def _first_failing(subject: Any, original: Original, finding: Finding) -> int:
    last = len(subject.plan.steps) - 1
    for index, module in _again(subject) if last else ():
        if index == last:
            break
        make = functools.partial(candidate_of, subject, original, index, module)
        ran = [each.name for each in (*subject.plan.prepare, *(each.ref for each in subject.plan.steps[: index + 1]))]
        found = _failure(subject, original, make, finding.evidence.details.mode)
        found = found or _hidden(subject, original, make, finding, ran)
        if found is not None and not _alike(found, finding.evidence):
            raise Undecidable("an earlier pass breaks something else")  # and is judged for it alone
        if found is not None:
            return index
    return last


def _again(subject: Any) -> Iterator[tuple[int, Any]]:
    """Yield what each step gives in a run of its own: a later one may have written into what it gave in the first."""
    ran = False
    for index, _, result in subject.retrace():
        ran = True
        if result.error is not None:
            return
        yield index, result.module
    if not ran:  # the input does not round-trip through JSON
        yield from enumerate(result.module for result in subject.chain)


def _alike(one: Evidence, other: Evidence) -> bool:
    """Say whether two failures may be one: what raises at run time does so in one place of TVM."""
    if {one.kind, other.kind} <= OF_MEMORY:
        return True
    return one.kind == other.kind and (one.kind != "run-error" or one.frames == other.frames)


def _failure(subject: Any, original: Original, make: Any, mode: str = "") -> Evidence | None:
    """Find what is wrong with a candidate; ``None`` where nothing is, or nothing can be said.

    Args:
        subject: What is judged.
        original: The original program.
        make: Makes the candidate.
        mode: In which execution mode the failure was seen.
    """
    try:
        found = examine(original, make(), subject, compiled=mode == ExecMode.COMPILED.value)
    except (Undecidable, NoAdapter):
        return None
    return None if found is None else found.evidence


def _hidden(subject: Any, original: Original, make: Any, finding: Finding, ran: list[str]) -> Evidence | None:
    """Find the same failure where nothing is legalized once more: that would compute an alias into memory of its own.

    A ``reshape`` that is left to be done in place is one.
    """
    if LEGALIZATION not in ran or finding.evidence.kind == "does-not-build":
        return None
    try:
        candidate = make()
        lowered = replace(candidate, module=lower(candidate.module, without=LEGALIZATION), lowered=True)
    except Exception:
        return None  # nobody can do without
    found = _failure(subject, original, lambda: lowered, finding.evidence.details.mode)
    return found if found is not None and _alike(found, finding.evidence) else None


def _inner(subject: Any, original: Original, index: int, finding: Finding) -> str | None:
    """Find the first public pass inside a composed one whose output, finished by the reference pipeline, is wrong."""
    names = frozenset(CONTRACTS) - {subject.plan.steps[index].ref.name}
    outputs: list[tuple[str, Any]] = []

    def observe(running: tuple[str, ...], module: Any) -> None:
        if [name for name in running if name in names] == [running[-1]]:  # public, and not inside another one
            outputs.append((running[-1], module))

    with tvm.transform.PassContext(instruments=[PassTrace(observe)]), target():
        subject.built(index)(original.module if index == 0 else subject.input_of(index))
    promise = promise_of(subject, index, original.float_dtypes)
    ran: list[str] = []
    for name, module in outputs:
        ran.append(name)
        make = functools.partial(Candidate, module, False, (), promise)
        if (_failure(subject, original, make) or _hidden(subject, original, make, finding, ran)) is not None:
            return name
    return None
