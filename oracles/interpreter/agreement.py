"""Does CodeGenVM compute what the interpreter says?"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm

from oracles.comparison import Mismatch, compare
from oracles.contract import NumericPromise
from oracles.execution.values import Value
from oracles.given import Given
from oracles.inputs import Unmaterializable
from oracles.interpreter.errors import Raised, Undefined, Unsupported
from oracles.interpreter.machine import Interpreter
from oracles.interpreter.precision import Precision
from oracles.original import Entry, Original
from oracles.tolerance import unit_of


class Agreement(enum.Enum):
    """What came of one case."""

    AGREES = "agrees"
    DIFFERS = "differs"
    UNSUPPORTED = "unsupported"
    UNDEFINED = "undefined"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Said:
    """The verdict on one case, and why."""

    verdict: Agreement
    reason: str = ""
    mismatch: Mismatch | None = None


def judge_alone(module: Any, seed: int) -> Said:
    """Compare the interpreter with CodeGenVM on every public function of an untransformed module."""
    text = str(tvm.ir.save_json(module))
    original = Original(module, text, seed, Given(), lambda _text: None)
    if original.program is None:
        return Said(Agreement.NOT_RUN, "does not build")
    said = Said(Agreement.NOT_RUN, "no function")
    for entry in original.entries:
        said = against(original, entry)
        if said.verdict is not Agreement.AGREES:
            break
    return said


def against(original: Original, entry: Entry) -> Said:
    """Compare one function of the original with the interpreter."""
    if entry.problem and entry.error is None:
        return Said(Agreement.NOT_RUN, entry.problem)
    names = {str(f.attrs["global_symbol"]): gv.name_hint for gv, f in original.module.functions_items() if _public(f)}
    name = names[entry.symbol]
    try:
        declared = Interpreter(original.module).call(name, entry.arguments)
        exact = Interpreter(original.module, Precision.FLOAT64).call(name, entry.arguments)
    except Unsupported as error:
        return Said(Agreement.UNSUPPORTED, str(error))
    except Undefined as error:
        return Said(Agreement.UNDEFINED, str(error))
    except Unmaterializable as error:
        return Said(Agreement.NOT_RUN, error.reason)
    except Raised as error:
        if entry.problem:
            return Said(Agreement.AGREES, "both raise")
        return Said(Agreement.DIFFERS, f"interpreter raises: {error}")
    if entry.problem:
        return Said(Agreement.DIFFERS, entry.problem)
    # What the virtual machine computes in declared precision and what is true may differ by rounding alone; a result
    # that one of the two explains is right.
    found = compare(declared, entry.output)
    if found is None:
        return Said(Agreement.AGREES)
    if found.kind == "wrong-value" and not found.integral:
        measured = original.measured(entry, unit_of(NumericPromise.REASSOCIATION, original.float_dtypes))
        if measured is None:
            return Said(Agreement.UNDEFINED, "perturbed run raises")
        narrow = _as(exact, declared)
        # The spread is that of runs around what the virtual machine computed, not around what is true.
        if compare(entry.output, narrow, measured.tolerance) is None:
            return Said(Agreement.AGREES)
        if original.decides:
            return Said(Agreement.UNDEFINED, "decision downstream of rounding")
    return Said(Agreement.DIFFERS, f"{found.kind} {found.expected} / {found.observed}", found)


def _as(exact: Value, declared: Value) -> Value:
    """A float64 result in the dtypes of the declared one."""
    if isinstance(exact, np.ndarray) and isinstance(declared, np.ndarray):
        return exact.astype(declared.dtype)
    if isinstance(exact, tuple) and isinstance(declared, tuple):
        return tuple(_as(left, right) for left, right in zip(exact, declared, strict=True))
    return exact


def _public(function: Any) -> bool:
    return getattr(function, "attrs", None) is not None and "global_symbol" in function.attrs
