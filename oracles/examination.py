"""What is wrong with a transformed program against the original: does it build, run, agree, leave inputs alone?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from oracles.abi import Adapter, NoAdapter, call, prepare
from oracles.capture import evidence_of
from oracles.comparison import Mismatch, compare
from oracles.contract import NumericPromise
from oracles.differentiation import Unmeasurable, examine_gradient, gradients_of
from oracles.execution import ExecMode, Program, private_constants, session
from oracles.execution.effects import trace
from oracles.numeric_limits import excused, excused_run, retypes_inputs
from oracles.original import Entry, Original, copied
from oracles.tolerance import DECISION_RUNS, Measured, unit_of
from oracles.verdict import Evidence

CODEGEN = "VMTIRCodeGen"
# call_tir_inplace "should not be used directly, but rather should be inserted by passes that have checked whether it is
# safe" (its docstring): merging or folding the value that it overwrites is then no pass's fault. In-place calls that a
# pass has inserted are judged.
IN_PLACE = "input calls a kernel in place"
_OVERWRITING = ("wrong-value", "input-overwritten", "second-call-differs")
TOO_COARSE = "undecidable: float8 has no small roundings"
UNDECIDABLE = "undecidable: decision downstream of rounding"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a transformed program.

    Attributes:
        evidence: For the verdict.
        culprit: Who is to blame when that is not the pass.
        unlegalized: Whether the code generator met an operator that no pass of the pipeline lowers.
    """

    evidence: Evidence
    culprit: str = ""
    unlegalized: bool = False


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


def examine(original: Original, candidate: Candidate, subject: Any, compiled: bool) -> Finding | None:
    """The first thing that is wrong with a candidate, or ``None``."""
    if original.program is None and not candidate.lowered:
        raise Undecidable("original does not build")
    program, error = _build(candidate, ExecMode.BYTECODE, subject)
    if program is None:
        assert error is not None
        if original.program is None and not left_unlegalized(error):
            raise Undecidable("original does not build")
        if reason := excused(error, subject.plan.steps):
            raise Undecidable(reason)
        return Finding(_unbuildable(error), unlegalized=left_unlegalized(error))
    if original.program is None:
        raise Undecidable("original does not build")
    runnable = [entry for entry in original.entries if not entry.problem]
    if not runnable:
        raise Undecidable(original.entries[0].problem if original.entries else "no public function")
    undecidable: list[str] = []
    for entry in runnable:
        try:
            found = _compare_function(original, candidate, program, entry, subject, ExecMode.BYTECODE)
        except Undecidable as error:
            undecidable.append(str(error))
            continue
        if found is not None:
            if original.calls_in_place and found.kind in _OVERWRITING:
                raise Undecidable(IN_PLACE)
            if reason := excused_run(found, subject.plan.steps):
                raise Undecidable(reason)
            return Finding(found)
    if (wrong := _adjoints(original, candidate, program, runnable, subject)) is not None:
        return wrong
    if len(undecidable) == len(runnable):
        raise Undecidable(undecidable[0])
    return _compiled_mode(original, candidate, runnable, subject) if compiled and not undecidable else None


def _adjoints(
    original: Original, candidate: Candidate, program: Program, runnable: list[Entry], subject: Any
) -> Finding | None:
    """What is wrong with the functions that Gradient has added.

    Raises:
        Undecidable: Gradient is the only pass, and nothing can be said of what it has added.
    """
    entries = {entry.symbol: entry for entry in runnable}
    reason = ""
    for gradient, later, changed in gradients_of(candidate.adapters):
        if changed or gradient.function not in entries or not program.has(gradient.adjoint):
            reason = "undecidable: nothing to differentiate"
            continue
        subject.stage(f"numeric run {gradient.adjoint}")
        try:
            found = examine_gradient(original, program, gradient, later, entries[gradient.function], candidate.promise)
        except Unmeasurable as error:
            reason = str(error)
            continue
        if found is not None:
            return Finding(found)
    if reason and len(subject.plan.steps) == 1:
        raise Undecidable(reason)
    return None


def _compiled_mode(original: Original, candidate: Candidate, runnable: list[Entry], subject: Any) -> Finding | None:
    """Compare in compiled mode what agreed in bytecode; blames the code generator when the original fails as well."""
    program, error = _build(candidate, ExecMode.COMPILED, subject)
    guilty = CODEGEN if original.compiled is None else ""
    if program is None:
        assert error is not None
        return Finding(_unbuildable(error), guilty)
    for entry in runnable:
        found = _compare_function(original, candidate, program, entry, subject, ExecMode.COMPILED)
        if found is not None:
            return Finding(found, guilty or ("" if _original_agrees(original, entry) else CODEGEN))
    return None


def _original_agrees(original: Original, entry: Entry) -> bool:
    """Whether the original gives the same in both execution modes."""
    if original.compiled is None:
        return False
    try:
        return compare(entry.output, original.compiled.call(entry.symbol, entry.arguments)) is None
    except Exception:
        return False


def _build(candidate: Candidate, mode: ExecMode, subject: Any) -> tuple[Program | None, Evidence | None]:
    subject.stage(f"numeric build {mode.value}")
    prepare(candidate.adapters)
    try:
        return session().build(private_constants(candidate.module), mode, lowered=candidate.lowered), None
    except Exception as error:
        return None, evidence_of(error)


def left_unlegalized(error: Evidence) -> bool:
    """Whether the code generator met an operator that a stock pipeline was to lower, or to refuse itself."""
    return "cannot handle this intrinsic" in error.message or "cannot emit this Relax operator" in error.message


def _unbuildable(error: Evidence) -> Evidence:
    return Evidence(
        "does-not-build",
        f"{error.kind}: {_essence(error.message)}",
        error.frames,
        expected="the module builds, as it does before the pass",
        observed=f"{error.kind}: {error.message}",
    )


def _essence(message: str) -> str:
    """The code generator's complaint without the call that it quotes, whose operands differ from module to module."""
    head, quoted, call_text = message.partition("Offending call:")
    operator = re.search(r"R\.[\w.]+", call_text)
    return f"{operator.group()}: {head.splitlines()[0]}" if quoted and operator else message


def _compare_function(
    original: Original, candidate: Candidate, program: Program, entry: Entry, subject: Any, mode: ExecMode
) -> Evidence | None:
    """What is wrong with one function; raises ``Undecidable``."""
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
        found = evidence_of(error)
        message = f"{found.kind}: {found.message}"
        return Evidence("run-error", message, found.frames, "the function returns, as before the pass", message)
    difference = _difference(original, candidate.promise, entry, output)
    if difference is not None:
        if difference.kind == "wrong-dtype" and retypes_inputs(subject.plan.steps):
            raise Undecidable("signature follows retyped inputs")
        return _wrong(difference, candidate.promise, entry, mode)
    if (changed := compare(copied(entry.arguments), program.plain(tensors))) is not None:
        return _observed("input-overwritten", "the call changed its inputs", changed, entry)
    if (changed := compare(output, again)) is not None:
        return _observed("second-call-differs", "a second call on the same inputs gives another result", changed, entry)
    return _other_effects(original, candidate, entry, printed)


def _other_effects(original: Original, candidate: Candidate, entry: Entry, printed: tuple[str, ...]) -> Evidence | None:
    """What is wrong with the effects: impure calls may be neither dropped, nor repeated, nor reordered.

    With a changed calling convention a function's work is spread over several calls, and nothing is said of order.
    """
    if candidate.adapters or original.hides_effects:
        return None
    exact = candidate.promise is NumericPromise.BIT_EXACT
    expected, observed = trace(entry.printed, exact), trace(printed, exact)
    if expected == observed:
        return None
    return Evidence(
        "other-effects", "the program prints something else", (), f"{entry.symbol} prints {expected}", f"{observed}"
    )


def _difference(original: Original, promise: NumericPromise, entry: Entry, output: Any) -> Mismatch | None:
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
    if loose is None:
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
    where = "" if mode is ExecMode.BYTECODE else ", compiled mode"
    return Evidence(
        difference.kind,
        f"results differ ({promise.value}{', integers' if difference.integral else ''}{where})",
        expected=f"{entry.symbol}, output {list(difference.path)}: {difference.expected}",
        observed=difference.observed,
    )


def _observed(kind: str, message: str, difference: Mismatch, entry: Entry) -> Evidence:
    return Evidence(
        kind, message, (), f"{entry.symbol}, {list(difference.path)}: {difference.expected}", difference.observed
    )
