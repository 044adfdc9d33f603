"""Numeric comparison without a compiler: what the reference interpreter makes of a module before and after a pass.

Both modules run in the declared dtypes, operator by operator, so that a pass which may not change a bit changes none;
and in float64, where two programs that differ by the order of roundings agree to many more digits than either dtype
has.  What it cannot interpret, or finds to differ, is for CodeGenVM to say.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np
import tvm

from oracles.measure.comparison import compare
from oracles.measure.input_variations import Variation
from oracles.measure.inputs import Unmaterializable, materialize
from relaxkit.interpreter import Interpreter, Precision, Raised, Undefined, Unsupported
from relaxkit.ir.domain import Given
from relaxkit.ir.functions import name_in, public_functions
from relaxkit.passes.contract import Stage, Trait
from relaxkit.passes.contracts import any_has
from relaxkit.passes.pass_ref import Step

NEAR = 2.0**-36
"""Relative distance within which two float64 results are the same real number: 16 bits less than float64 has, 13 more
than float32."""


class Interpreted(enum.Enum):
    """The answer of the interpreter on a transformed module."""

    EQUAL = "equal"  # to the bit, in the declared dtypes
    NEAR = "near"  # in float64; the roundings differ
    DIFFERENT = "different"
    UNKNOWN = "unknown"


def interpretable(steps: Sequence[Step], adapted: bool) -> bool:
    """Say whether what the passes give is of the form that the interpreter reads, and called as before.

    A pass that makes calls in place may overwrite the wrong memory, of which the interpreter has none.
    """
    if adapted or any_has((step.contract for step in steps), Trait.IN_PLACE):
        return False
    return all(step.contract.gives is Stage.HIGH_LEVEL for step in steps)


def compare_interpreted(
    before: tvm.IRModule, after: tvm.IRModule, seed: int, given: Given, variation: Variation = Variation.DEFAULT
) -> Interpreted:
    """Interpret every public function of two modules on the same arguments."""
    names, others = public_functions(before), public_functions(after)
    worst = Interpreted.EQUAL
    if not names:
        return Interpreted.UNKNOWN
    for symbol, function in sorted(names.items()):
        if symbol not in others:
            return Interpreted.UNKNOWN
        said = _compare(
            before, after, name_in(before, function), name_in(after, others[symbol]), seed, given, variation
        )
        if said in (Interpreted.UNKNOWN, Interpreted.DIFFERENT):
            return said
        if said is Interpreted.NEAR:
            worst = said
    return worst


def _compare(
    before: tvm.IRModule, after: tvm.IRModule, name: str, other: str, seed: int, given: Given, variation: Variation
) -> Interpreted:
    try:
        arguments = materialize(before, name, seed, given, variation)
        left, right = Interpreter(before), Interpreter(after)
        expected, observed = left.call(name, arguments), right.call(other, arguments)
        if left.printed != right.printed:
            return Interpreted.DIFFERENT
        if compare(expected, observed) is None:
            return Interpreted.EQUAL
        exact = [Interpreter(module, Precision.FLOAT64) for module in (before, after)]
        expected, observed = exact[0].call(name, arguments), exact[1].call(other, arguments)
        if any(each.rounded for each in exact):
            return Interpreted.DIFFERENT  # a kernel that computes in the declared dtype says nothing in float64
    except (Unsupported, Undefined, Raised, Unmaterializable):
        return Interpreted.UNKNOWN
    return Interpreted.NEAR if compare(expected, observed, _near) is None else Interpreted.DIFFERENT


def _near(_path: tuple[int, ...], expected: np.ndarray[Any, Any], observed: np.ndarray[Any, Any]) -> Any:
    """Return a distance that real arithmetic does not explain: relative to the largest number of the array."""
    with np.errstate(all="ignore"):
        sizes = np.maximum(np.abs(expected.astype("float64")), np.abs(observed.astype("float64")))
        finite = sizes[np.isfinite(sizes)]
    return np.full(expected.shape, NEAR * (1.0 + (float(finite.max()) if finite.size else 0.0)))
