"""Does CodeGenVM compute what the interpreter says?  One module, on inputs of one kind."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import tvm

from oracles.measure.comparison import Mismatch, compare
from oracles.measure.definedness import hides
from oracles.measure.input_variations import ASKED, Variation
from oracles.measure.inputs import Unmaterializable, materialize
from oracles.measure.original import Original
from oracles.semantics.nearness import Unsure, expectation
from oracles.semantics.replay import run_poisoned
from oracles.semantics.search import first_fault
from relaxkit.interpreter import Interpreter, Raised, Request, Undefined, Unsupported
from relaxkit.ir.domain import Given
from relaxkit.ir.functions import name_in, public_functions


class Agreement(enum.Enum):
    """The outcome of one case."""

    AGREES = "agrees"
    DIFFERS = "differs"
    UNSUPPORTED = "unsupported"
    UNDEFINED = "undefined"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The verdict on one case.

    Attributes:
        verdict: What came of it.
        reason: Why; of a difference the operator that is to blame and what is wrong, as findings have it.
        mismatch: Where a result differs, if it does.
        example: Both values, for people.
    """

    verdict: Agreement
    reason: str = ""
    mismatch: Mismatch | None = None
    example: str = ""


def judge_inputs(module: tvm.IRModule, inputs: Sequence[tuple[int, Variation]]) -> list[CaseResult]:
    """Compare the interpreter with CodeGenVM on every public function of an untransformed module, which is built once.

    Args:
        module: The module.
        inputs: Seeds of inputs, and how they are drawn.
    """
    original = Original(module, str(tvm.ir.save_json(module)), 0, Given())
    if original.built is None:
        return [CaseResult(Agreement.NOT_RUN, "does not build") for _ in inputs]
    return [_judged(original, seed, variation) for seed, variation in inputs]


def _judged(original: Original, seed: int, variation: Variation) -> CaseResult:
    """Compare all functions on one input."""
    said = CaseResult(Agreement.NOT_RUN, "no function")
    for symbol, function in sorted(public_functions(original.module).items()):
        name = name_in(original.module, function)
        said = _against(original, symbol, name, seed, variation)
        if said.verdict is not Agreement.AGREES:
            break
    return said


def _against(original: Original, symbol: str, name: str, seed: int, variation: Variation) -> CaseResult:
    """Compare one function of the original with the interpreter."""
    module, program = original.module, original.program
    assert program is not None
    made: list[Request] = []
    interpreter = Interpreter(module, observer=lambda request, _: made.append(request))
    try:
        arguments = materialize(module, name, seed, original.given, variation)
        if variation in ASKED and (reason := hides(module, original.text, variation)):
            return CaseResult(Agreement.UNDEFINED, reason)
        value, raised = interpreter.call(name, arguments), ""
    except Unsupported as error:
        return CaseResult(Agreement.UNSUPPORTED, str(error))
    except Undefined as error:
        return CaseResult(Agreement.UNDEFINED, str(error))
    except Unmaterializable as error:
        return CaseResult(Agreement.NOT_RUN, error.reason)
    except Raised as error:
        value, raised = None, str(error)
    try:
        observed = run_poisoned(program, symbol, arguments)
        printed = program.take_output()
    except Exception as error:
        if raised:
            return CaseResult(Agreement.AGREES, "both raise")
        return CaseResult(Agreement.DIFFERS, f"raises {type(error).__name__}")
    if raised:
        return CaseResult(Agreement.DIFFERS, f"interpreter raises: {raised}")
    if printed != tuple(interpreter.printed):
        return CaseResult(Agreement.DIFFERS, f"prints {printed}, interpreter {tuple(interpreter.printed)}")
    if compare(value, observed) is None:
        return CaseResult(Agreement.AGREES)
    try:
        found = expectation(module, name, arguments).mismatch(observed)
    except Unsure as error:
        return CaseResult(Agreement.UNDEFINED, str(error))
    if found is None:
        return CaseResult(Agreement.AGREES)
    fault = first_fault(made)
    if fault is None:
        # With less known of where its values come from, a call grants more than the function around it.
        return CaseResult(Agreement.UNDEFINED, f"{found.kind}, but of no call alone", found)
    seen = fault.mismatch
    return CaseResult(Agreement.DIFFERS, fault.evidence.message, seen, f"{seen.expected} / {seen.observed}")
