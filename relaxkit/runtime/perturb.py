"""Stochastic arithmetic: a run in which the result of every kernel is off by a random rounding.

The virtual machine calls an instrument around every kernel; what the kernel changed is its result, and is then
multiplied, element by element, by ``1 + d * unit`` with ``0.75 <= |d| <= 1.25`` and a random sign.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm

NO_OP = 0  # VMInstrumentReturnKind.NO_OP
MOST_KERNELS = 2000
"""Kernels of one run. A recursion that counts floats down to zero never meets it when they are moved, and overflows the
stack of the process."""
_DENORMAL = {"float16": 2.0**-24, "bfloat16": 2.0**-133, "float32": 2.0**-149, "float64": 2.0**-1074}


def smallest_subnormal(dtype: str) -> float:
    """Distance between zero and the next number of a float dtype; that of float32 for a dtype not known here."""
    return _DENORMAL.get(dtype, _DENORMAL["float32"])


class Endless(Exception):
    """A moved run called more kernels than any program that is compared does."""


class Perturber:
    """An instrument of the virtual machine, for one run after another; :meth:`begin` comes before each.

    Args:
        random: Source of the roundings.
        unit: Relative size of one rounding.
        floor: Absolute size of one rounding near zero, where numbers are evenly spaced.

    Attributes:
        largest: Largest finite magnitude seen in a float result.
        smallest: Smallest magnitude other than zero seen in a float result.
        elements: Number of elements of the largest tensor that a kernel got.
    """

    def __init__(self, random: np.random.Generator, unit: float, floor: float) -> None:
        self.random = random
        self.unit = unit
        self.floor = floor
        self.largest = 0.0
        self.smallest = np.inf
        self.elements = 1
        self._kernels = 0
        self._before: list[tuple[Any, np.ndarray[Any, Any]]] = []

    def begin(self) -> None:
        """A run begins."""
        self._kernels = 0

    def __call__(self, _function: Any, _symbol: str, before: bool, _result: Any, *arguments: Any) -> int:
        """Called before and after every kernel of a run."""
        if before:
            self._kernels += 1
            if self._kernels > MOST_KERNELS:
                raise Endless(f"more than {MOST_KERNELS} kernels")
            self._before = [(a, a.numpy().copy()) for a in arguments if _is_float_tensor(a)]
            sizes = [int(np.prod(a.shape, dtype=np.int64)) for a in arguments if isinstance(a, tvm.runtime.Tensor)]
            self.elements = max([self.elements, *sizes])
            return NO_OP
        for tensor, old in self._before:
            new = tensor.numpy()
            if new.tobytes() != old.tobytes():
                self._observe(new)
                tensor.copyfrom(self.rounded(new))
        self._before = []
        return NO_OP

    def rounded(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the array with every element off by one random rounding; zeros, NaN and infinities stay."""
        wide = array.astype("float64")
        sign = self.random.choice((-1.0, 1.0), array.shape)
        size = self.random.uniform(0.75, 1.25, array.shape)
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            moved = wide + sign * size * (np.abs(wide) * self.unit + self.floor * (wide != 0))
            return np.asarray(np.where(np.isfinite(wide), moved, wide)).astype(array.dtype)

    def _observe(self, array: np.ndarray[Any, Any]) -> None:
        magnitudes = np.abs(array.astype("float64")).ravel()
        finite = magnitudes[np.isfinite(magnitudes)]
        if finite.size < magnitudes.size:
            self.largest = np.inf
        if finite.size:
            self.largest = max(self.largest, float(finite.max()))
        positive = finite[finite > 0]
        if positive.size:
            self.smallest = min(self.smallest, float(positive.min()))


def _is_float_tensor(value: Any) -> bool:
    return isinstance(value, tvm.runtime.Tensor) and "float" in str(value.dtype)
