"""Programs in NumPy that stand for executed ones: many runs of one function at once, a row for each.

A row is one run of the function on arguments of its own.  Every operation rounds to the dtype of the run, as a kernel
that stores its result does, and every sum adds one term after the other in a stated order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from oracles.measure.original import Entry
from oracles.measure.tolerance import RUNS, Measured, Unit
from relaxkit.runtime.perturb import Perturber
from relaxkit.runtime.values import Value

Array = np.ndarray[Any, Any]


class Arithmetic:
    """Rounding of one run.

    Args:
        dtype: What results of operations are rounded to.
        perturber: Moves results of kernels by one more rounding; ``None`` for a plain run.
    """

    def __init__(self, dtype: str, perturber: Perturber | None = None) -> None:
        self.dtype = np.dtype(dtype)
        self._perturber = perturber

    def __call__(self, value: Any) -> Array:
        """The result of one operation inside a kernel."""
        return np.asarray(value).astype(self.dtype, copy=False)

    def kernel(self, value: Any) -> Array:
        """The result of a kernel: what a perturbed run moves."""
        stored = self(value)
        return stored if self._perturber is None else self._perturber.rounded(stored)

    def forwards(self, terms: Array) -> Array:
        """The sum over the last axis, first term first, in one kernel."""
        if not terms.shape[-1]:
            return self(np.zeros(terms.shape[:-1]))
        return np.asarray(np.add.accumulate(self(terms), axis=-1)[..., -1])  # accumulate rounds at every step

    def backwards(self, terms: Array) -> Array:
        """Last term first."""
        return self.forwards(terms[..., ::-1])

    def pairwise(self, terms: Array) -> Array:
        """Neighbours first, as a balanced tree."""
        while terms.shape[-1] > 1:
            even = terms.shape[-1] // 2 * 2
            pairs = self(terms[..., 0:even:2] + terms[..., 1:even:2])
            terms = np.concatenate([pairs, terms[..., even:]], axis=-1)
        return np.asarray(terms[..., 0])

    def in_lanes(self, terms: Array, lanes: int = 4) -> Array:
        """Every fourth term in a sum of its own, as a vectorised loop adds."""
        return self.forwards(np.stack([self.forwards(terms[..., k::lanes]) for k in range(lanes)], axis=-1))

    def in_parts(self, terms: Array, parts: int = 3) -> Array:
        """Neighbouring parts in kernels of their own, the sums of which another one adds."""
        pieces = np.array_split(terms, min(parts, terms.shape[-1]), axis=-1)
        return self.kernel(self.forwards(np.stack([self.kernel(self.forwards(piece)) for piece in pieces], axis=-1)))


Program = Callable[..., Any]


@dataclass
class NumpyOriginal:
    """What :func:`oracles.numeric.compare_call.difference_of` asks of an original, for a program in NumPy.

    Attributes:
        program: Called with an :class:`Arithmetic` and the arguments.
        dtype: Float dtype of the program.
        elements: Elements of the largest tensor that a kernel of one row gets.
        decides: Whether the program decides on floats.
        seed: Source of the perturbations.
    """

    program: Program
    dtype: str
    elements: int
    decides: bool = False
    seed: int = 0
    decides_inside_kernels: bool = False
    _measured: dict[tuple[Unit, int], Measured] = field(default_factory=dict)

    @property
    def float_dtypes(self) -> tuple[str, ...]:
        return (self.dtype,)

    def run(self, arguments: Sequence[Array]) -> Entry:
        output = self.program(Arithmetic(self.dtype), *arguments)
        return Entry("main", None, tuple(arguments), output)

    def truth(self, entry: Entry) -> Value:
        if self.dtype == "float64":
            return None
        exact: Value = self.program(
            Arithmetic("float64"), *[argument.astype("float64") for argument in entry.arguments]
        )
        return exact

    def measured(self, entry: Entry, unit: Unit, runs: int = RUNS) -> Measured:
        if (unit, runs) not in self._measured:
            self._measured[unit, runs] = self._measure(entry, unit, runs)
        return self._measured[unit, runs]

    def _measure(self, entry: Entry, unit: Unit, runs: int) -> Measured:
        perturber = Perturber(np.random.default_rng(self.seed), unit.relative, unit.floor)
        arithmetic = Arithmetic(self.dtype, perturber)
        outputs = tuple(
            self.program(arithmetic, *[perturber.rounded(argument) for argument in entry.arguments])
            for _ in range(runs)
        )
        return Measured(outputs, unit, self.elements, 1.0, 1.0)
