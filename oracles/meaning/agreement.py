"""Does CodeGenVM compute what the interpreter says?  One module, on inputs of one kind."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tvm

from oracles.abi.compose import public_functions
from oracles.comparison import Mismatch, compare
from oracles.definedness import hides
from oracles.given import Given
from oracles.inputs import Unmaterializable, materialize
from oracles.interpreter import Interpreter, Raised, Request, Undefined, Unsupported
from oracles.meaning.nearness import Unsure, expectation
from oracles.meaning.replay import run_poisoned
from oracles.meaning.search import first_fault
from oracles.original import Original
from oracles.variations import ASKED, Variation


class Agreement(enum.Enum):
    """What came of one case."""

    AGREES = "agrees"
    DIFFERS = "differs"
    UNSUPPORTED = "unsupported"
    UNDEFINED = "undefined"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Said:
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


def judge_alone(module: Any, seed: int, variation: Variation = Variation.DEFAULT) -> Said:
    """Compare the interpreter with CodeGenVM on every public function of an untransformed module.

    Args:
        module: The module.
        seed: Seed of the inputs.
        variation: How they are drawn.
    """
    return judge_inputs(module, [(seed, variation)])[0]


def judge_inputs(module: Any, inputs: Sequence[tuple[int, Variation]]) -> list[Said]:
    """As :func:`judge_alone`, on several inputs of a module that is built once."""
    original = Original(module, str(tvm.ir.save_json(module)), 0, Given(), lambda _text: None)
    if original.program is None:
        return [Said(Agreement.NOT_RUN, "does not build") for _ in inputs]
    return [_judged(original, seed, variation) for seed, variation in inputs]


def _judged(original: Original, seed: int, variation: Variation) -> Said:
    """Compare all functions on one input."""
    said = Said(Agreement.NOT_RUN, "no function")
    for symbol, function in sorted(public_functions(original.module).items()):
        name = next(gv.name_hint for gv, each in original.module.functions_items() if each.same_as(function))
        said = _against(original, symbol, name, seed, variation)
        if said.verdict is not Agreement.AGREES:
            break
    return said


def _against(original: Original, symbol: str, name: str, seed: int, variation: Variation) -> Said:
    """Compare one function of the original with the interpreter."""
    module, program = original.module, original.program
    assert program is not None
    made: list[Request] = []
    interpreter = Interpreter(module, observer=lambda request, _: made.append(request))
    try:
        arguments = materialize(module, name, seed, original.given, variation)
        if variation in ASKED and (reason := hides(module, original.text, variation)):
            return Said(Agreement.UNDEFINED, reason)
        value, raised = interpreter.call(name, arguments), ""
    except Unsupported as error:
        return Said(Agreement.UNSUPPORTED, str(error))
    except Undefined as error:
        return Said(Agreement.UNDEFINED, str(error))
    except Unmaterializable as error:
        return Said(Agreement.NOT_RUN, error.reason)
    except Raised as error:
        value, raised = None, str(error)
    try:
        observed, printed = run_poisoned(program, symbol, arguments)
    except Exception as error:
        if raised:
            return Said(Agreement.AGREES, "both raise")
        return Said(Agreement.DIFFERS, f"raises {type(error).__name__}")
    if raised:
        return Said(Agreement.DIFFERS, f"interpreter raises: {raised}")
    if printed != tuple(interpreter.printed):
        return Said(Agreement.DIFFERS, f"prints {printed}, interpreter {tuple(interpreter.printed)}")
    if compare(value, observed) is None:
        return Said(Agreement.AGREES)
    try:
        found = expectation(module, name, arguments).mismatch(observed)
    except Unsure as error:
        return Said(Agreement.UNDEFINED, str(error))
    if found is None:
        return Said(Agreement.AGREES)
    fault = first_fault(made)
    if fault is None:
        # With less known of where its values come from, a call grants more than the function around it.
        return Said(Agreement.UNDEFINED, f"{found.kind}, but of no call alone", found)
    seen = fault.mismatch
    return Said(Agreement.DIFFERS, fault.evidence.message, seen, f"{seen.expected} / {seen.observed}")
