"""One function of a transformed program, called on one set of arguments: is it right?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from oracles.calling import Adapter, Convention, NoAdapter, adapters_of, call
from oracles.core.evidence import evidence_of
from oracles.core.module_facts import equal
from oracles.core.verdict import Details, Evidence, Phase, Undecided
from oracles.measure.comparison import Mismatch, compare
from oracles.measure.float64 import settle
from oracles.measure.input_variations import ASKED, Variation
from oracles.measure.original import OVERWRITES, Entry, Original, copied
from oracles.measure.tolerance import CONFIRMING_RUNS, DECISION_RUNS, Measured, unit_of
from relaxkit.passes.contract import NumericPromise, OracleName, Stage
from relaxkit.passes.pass_ref import Step
from relaxkit.runtime import ExecMode, Program
from relaxkit.runtime.values import trace

if TYPE_CHECKING:
    import tvm

    from oracles.core.subject import Subject


UNINITIALIZED = "original prints uninitialized memory"


class Undecidable(Exception):
    """No judgement is possible; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A transformed module and what is needed to compare it.

    Attributes:
        lowered: Whether it must be executed as it is, without the reference pipeline.
        promise: How close its results must be.
    """

    module: Any
    lowered: bool
    adapters: tuple[Adapter, ...]
    promise: NumericPromise


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault of a transformed program.

    Attributes:
        evidence: For the verdict.
        culprit: Who is to blame when that is not the pass.
        unlegalized: Whether the code generator met an operator that no pass of the pipeline lowers.
        variation: The inputs on which it was seen.
    """

    evidence: Evidence
    culprit: str = ""
    unlegalized: bool = False
    variation: Variation = Variation.DEFAULT


def compare_function(
    original: Original, candidate: Candidate, program: Program, entry: Entry, subject: Subject, mode: ExecMode
) -> Evidence | None:
    """Find what is wrong with one function on one set of arguments.

    Raises:
        Undecidable: Nothing can be said.
        NoAdapter: Nobody knows how to call it.
    """
    subject.stage(OracleName.NUMERIC, stage=Phase.RUN, entry=entry.symbol, mode=mode.value)
    if not program.has(entry.symbol):
        raise Undecidable("function is gone")  # the well-formed oracle judges public signatures
    tensors = program.arguments(entry.arguments)
    program.take_output()
    try:
        output = call(program, candidate.adapters, entry.symbol, entry.num_input, tensors)
        printed = program.take_output()
        again = call(program, candidate.adapters, entry.symbol, entry.num_input, entry.arguments)
    except NoAdapter:
        raise
    except Exception as error:
        return raised(error, entry, mode)
    difference = difference_of(original, candidate.promise, entry, output)
    if difference is not None:
        if difference.kind == "wrong-dtype" and original.declared_dtype(entry, difference.path) == difference.observed:
            raise Undecidable(Undecided.MISDECLARED)  # what TVM's own lowering breaks (docs/semantics.md), this keeps
        return _wrong(difference, candidate.promise, entry, mode)
    if (changed := compare(copied(entry.arguments), program.plain(tensors))) is not None:
        if original.overwrites(entry):
            raise Undecidable(OVERWRITES)
        return observed("input-overwritten", "the call changed its inputs", changed, entry, mode)
    if (changed := compare(output, again)) is not None:
        return observed(
            "second-call-differs", "a second call on the same inputs gives another result", changed, entry, mode
        )
    return _other_effects(original, candidate, entry, printed, mode)


def _other_effects(
    original: Original, candidate: Candidate, entry: Entry, printed: tuple[str, ...], mode: ExecMode
) -> Evidence | None:
    """Find what is wrong with the effects: impure calls may be neither dropped, nor repeated, nor reordered.

    With a changed calling convention a function's work is spread over several calls, and nothing is said of order.
    """
    if candidate.adapters or original.hides_effects:
        return None
    exact = candidate.promise is NumericPromise.BIT_EXACT
    expected, seen = trace(entry.printed, exact), trace(printed, exact)
    if expected == seen:
        return None
    if not original.clean(entry):
        raise Undecidable(UNINITIALIZED)  # which is printed, and need not be among what is returned
    message = "the program prints something else"
    return Evidence(
        "other-effects", message, (), f"{entry.title} prints {expected}", f"{seen}", details_of(entry, mode.value)
    )


def difference_of(original: Original, promise: NumericPromise, entry: Entry, output: Any) -> Mismatch | None:
    """Return what a result differs by from the original's, more than the promise allows.

    Raises:
        Undecidable: Rounding may or may not explain it.
    """
    strict = compare(entry.output, output)
    if strict is None or promise is NumericPromise.BIT_EXACT or strict.kind != "wrong-value":
        return strict
    if any(dtype.startswith("float8") for dtype in original.float_dtypes):
        # Stochastic arithmetic is an argument of first order in the size of one rounding; with 2 or 3 bits of mantissa
        # a few of them are as large as the value itself.
        raise Undecidable(Undecided.NO_SMALL_ROUNDINGS)
    measured = original.measured(entry, unit_of(promise, original.float_dtypes))
    if measured is None:
        raise Undecidable(Undecided.PERTURBED_RAISES)
    loose = compare(entry.output, output, measured.tolerance)
    doubtful = False
    if loose is not None and loose.kind == "wrong-value":
        measured = original.measured(entry, measured.unit, CONFIRMING_RUNS) or measured
        settled = settle(original.truth(entry), measured, entry.output, output)
        loose, doubtful = compare(entry.output, settled.output, measured.tolerance), settled.doubtful
    if loose is None:
        if doubtful:
            raise Undecidable(Undecided.ORIGINAL_AS_FAR)
        return None
    if loose.kind == "wrong-value":
        if original.decides and _may_turn(original, entry, measured, output):
            raise Undecidable(Undecided.ROUNDED_DECISION)
        if promise is NumericPromise.LOSSY and measured.may_leave_float16:
            raise Undecidable(Undecided.BEYOND_FLOAT16)
    return loose


def _may_turn(original: Original, entry: Entry, measured: Measured, output: Any) -> bool:
    """Say whether a decision that comes out otherwise can explain the result."""
    if original.decides_inside_kernels:
        return True
    turned = original.measured(entry, measured.wider, DECISION_RUNS)
    return turned is None or compare(entry.output, output, turned.reach, integers=True) is None


def _wrong(difference: Mismatch, promise: NumericPromise, entry: Entry, mode: ExecMode) -> Evidence:
    where = f", {entry.variation.value}" if entry.variation in ASKED else ""
    where += "" if mode is ExecMode.BYTECODE else ", compiled mode"
    return Evidence(
        difference.kind,
        f"results differ ({promise.value}{', integers' if difference.integral else ''}{where})",
        expected=difference.due(entry.symbol) + entry.on,
        observed=difference.observed,
        details=details_of(entry, mode.value, difference),
    )


def details_of(entry: Entry, mode: str, difference: Mismatch | None = None) -> Details:
    """Give the facts of a call: which function, on which inputs, how it was executed, and what differs."""
    numbers = () if difference is None else difference.numbers
    return Details(stage=Phase.RUN, entry=entry.symbol, variation=entry.variation.value, mode=mode, numbers=numbers)


def raised(error: Exception, entry: Entry, mode: ExecMode = ExecMode.BYTECODE) -> Evidence:
    """Evidence of a call that ended with an error."""
    found = evidence_of(error)
    message = f"{found.kind}: {found.message}"
    details = replace(details_of(entry, mode.value), error=found.message)
    details = replace(details, lines=found.details.lines, functions=found.details.functions)
    expected = f"{entry.symbol} returns normally{entry.on}, as it did before the pass"
    return Evidence("run-error", message, found.frames, expected, message, details)


def observed(
    kind: str, message: str, difference: Mismatch, entry: Entry, mode: ExecMode = ExecMode.BYTECODE
) -> Evidence:
    """Evidence of two values of one program that should be the same."""
    expected = difference.due(entry.symbol) + entry.on
    if kind == "input-overwritten":
        expected = (
            f"argument {'.'.join(map(str, difference.path))} of {entry.symbol} stays {difference.expected}{entry.on}"
        )
    return Evidence(kind, message, (), expected, difference.observed, details_of(entry, mode.value, difference))


# The program that a pass made, ready to be called like the original, and what the pass promises of its numbers.

# Floats that kernels compute in float32, as a CPU has no instructions for them: ``Contract.merges_kernels``.
_PROMOTED = frozenset({"bfloat16", "float8_e4m3fn", "float8_e5m2"})
_WEAKEST_LAST = (
    NumericPromise.BIT_EXACT,
    NumericPromise.REASSOCIATION,
    NumericPromise.APPROXIMATE,
    NumericPromise.LOSSY,
    NumericPromise.NONE,
)


def candidate_of(subject: Subject, original: Original, last: int, module: tvm.IRModule = None) -> Candidate:
    """Return the module after step ``last``, or one that it gave in another run."""
    steps = subject.plan.steps[: last + 1]
    conventions = []
    for index, step in enumerate(steps):
        before, after = input_of(subject, original, index), subject.chain[index].module
        if not equal(before, after):  # a pass that did nothing left the convention alone
            conventions.append(Convention(step.ref.name, step.contract.abi, step.ref.expression, before, after))
    return Candidate(
        subject.chain[last].module if module is None else module,
        steps[-1].contract.composed and steps[-1].contract.gives is Stage.LOWERED,
        adapters_of(conventions),
        promise_of(subject, last, original.float_dtypes),
    )


def input_of(subject: Subject, original: Original, index: int) -> Any:
    """Return what a step was applied to; the first step's input as it was before that step could modify it."""
    return original.module if index == 0 else subject.input_of(index)


def promise_of(subject: Subject, last: int, dtypes: Sequence[str] = ()) -> NumericPromise:
    """Return the weakest numeric promise among the steps up to ``last``, for a module with floats of these dtypes."""
    steps: Sequence[Step] = subject.plan.steps[: last + 1]
    promises = [step.contract.numeric for step in steps]
    if any(step.contract.merges_kernels for step in steps) and not _PROMOTED.isdisjoint(dtypes):
        promises.append(NumericPromise.REASSOCIATION)
    return max(promises, key=_WEAKEST_LAST.index)
