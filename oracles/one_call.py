"""One function of a transformed program, called on one set of arguments: is it right?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from oracles.abi import Adapter, NoAdapter, call
from oracles.capture import evidence_of
from oracles.comparison import Mismatch, compare
from oracles.contract import NumericPromise
from oracles.execution import ExecMode, Program
from oracles.execution.effects import trace
from oracles.numeric_limits import retypes_inputs
from oracles.original import Entry, Original, copied
from oracles.reference import settle
from oracles.tolerance import CONFIRMING_RUNS, DECISION_RUNS, Measured, unit_of
from oracles.variations import ASKED
from oracles.verdict import Evidence

UNINITIALIZED = "original prints uninitialized memory"
TOO_COARSE = "undecidable: float8 has no small roundings"
UNDECIDABLE = "undecidable: decision downstream of rounding"
OFF = "undecidable: original is as far from float64"


class Undecidable(Exception):
    """No judgement is possible; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A transformed module and what is needed to compare it.

    Attributes:
        module: The module.
        lowered: Whether it must be executed as it is, without the reference pipeline.
        adapters: How to call it.
        promise: How close its results must be.
    """

    module: Any
    lowered: bool
    adapters: tuple[Adapter, ...]
    promise: NumericPromise


def compare_function(
    original: Original, candidate: Candidate, program: Program, entry: Entry, subject: Any, mode: ExecMode
) -> Evidence | None:
    """What is wrong with one function on one set of arguments.

    Raises:
        Undecidable: Nothing can be said.
        NoAdapter: Nobody knows how to call it.
    """
    subject.stage(f"numeric run {entry.symbol} {mode.value}")
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
        return raised(error, entry)
    difference = difference_of(original, candidate.promise, entry, output)
    if difference is not None:
        if difference.kind == "wrong-dtype" and retypes_inputs(subject.plan.steps):
            raise Undecidable("signature follows retyped inputs")
        return _wrong(difference, candidate.promise, entry, mode)
    if (changed := compare(copied(entry.arguments), program.plain(tensors))) is not None:
        return observed("input-overwritten", "the call changed its inputs", changed, entry)
    if (changed := compare(output, again)) is not None:
        return observed("second-call-differs", "a second call on the same inputs gives another result", changed, entry)
    return _other_effects(original, candidate, entry, printed)


def _other_effects(original: Original, candidate: Candidate, entry: Entry, printed: tuple[str, ...]) -> Evidence | None:
    """What is wrong with the effects: impure calls may be neither dropped, nor repeated, nor reordered.

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
    return Evidence("other-effects", message, (), f"{entry.title} prints {expected}", f"{seen}")


def difference_of(original: Original, promise: NumericPromise, entry: Entry, output: Any) -> Mismatch | None:
    """What a result differs by from the original's, more than the promise allows.

    Args:
        original: The original.
        promise: The weakest promise of the passes.
        entry: The function on its arguments.
        output: What the transformed program returned.

    Raises:
        Undecidable: Rounding may or may not explain it.
    """
    strict = compare(entry.output, output)
    if strict is None or promise is NumericPromise.BIT_EXACT or strict.kind != "wrong-value":
        return strict
    if any(dtype.startswith("float8") for dtype in original.float_dtypes):
        # Stochastic arithmetic is an argument of first order in the size of one rounding; with 2 or 3 bits of mantissa
        # a few of them are as large as the value itself.
        raise Undecidable(TOO_COARSE)
    measured = original.measured(entry, unit_of(promise, original.float_dtypes))
    if measured is None:
        raise Undecidable("undecidable: perturbed run raises")
    loose = compare(entry.output, output, measured.tolerance)
    doubtful = False
    if loose is not None and loose.kind == "wrong-value":
        measured = original.measured(entry, measured.unit, CONFIRMING_RUNS) or measured
        settled = settle(original.truth(entry), measured, entry.output, output)
        loose, doubtful = compare(entry.output, settled.output, measured.tolerance), settled.doubtful
    if loose is None:
        if doubtful:
            raise Undecidable(OFF)
        return None
    if loose.kind == "wrong-value":
        if original.decides and _may_turn(original, entry, measured, output):
            raise Undecidable(UNDECIDABLE)
        if promise is NumericPromise.LOSSY and measured.may_leave_float16:
            raise Undecidable("undecidable: outside the range of float16")
    return loose


def _may_turn(original: Original, entry: Entry, measured: Measured, output: Any) -> bool:
    """Whether a decision that comes out otherwise can explain the result."""
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
        expected=f"{entry.title}, output {list(difference.path)}: {difference.expected}",
        observed=difference.observed,
    )


def raised(error: Exception, entry: Entry) -> Evidence:
    """Evidence of a call that ended with an error."""
    found = evidence_of(error)
    message = f"{found.kind}: {found.message}"
    return Evidence("run-error", message, found.frames, f"{entry.title} returns, as before the pass", message)


def observed(kind: str, message: str, difference: Mismatch, entry: Entry) -> Evidence:
    """Evidence of two values of one program that should be the same."""
    return Evidence(
        kind, message, (), f"{entry.title}, {list(difference.path)}: {difference.expected}", difference.observed
    )
