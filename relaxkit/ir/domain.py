"""The default input domain: what programs are run on, and what drawn modules are free of undefined behaviour on.

Floats are multiples of 2**-6 in [-2, 2], exact in float16, and rounded to bfloat16 and float8, which hold both ends;
signed integers lie in [-3, 3], unsigned ones in [0, 3]; booleans are both. Integer ``R.Prim`` and every symbolic dim
lie in :data:`DIMS`, one value a variable and run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np  # which verbs that need no TVM do not wait for


@dataclass(frozen=True, slots=True)
class Domain:
    """The elements of a dtype: the multiples of ``step`` from ``lo`` to ``hi``, both included."""

    lo: float
    hi: float
    step: float = 1

    @property
    def integral(self) -> bool:
        """Say whether all elements are whole numbers."""
        return self.step == 1

    @property
    def multiples(self) -> tuple[int, int]:
        """Return the first multiple of the step, and the one behind the last."""
        return round(self.lo / self.step), round(self.hi / self.step) + 1


FLOATS = Domain(-2.0, 2.0, 2.0**-6)
INTEGERS = Domain(-3, 3)
BOOLEANS = Domain(0, 1)
ORDINARY: dict[int, tuple[float, ...]] = {
    -4: (1.0,), -8: (1.0, 2.0), -15: (-1.0, 2.0, 1.0, -2.0), -2: (2.0, 1.0), -3: (1.0, 0.5, 2.0), -1: (1.0,)
}  # fmt: skip
"""Seeds for which nothing is drawn, plainest first: tensors hold these values in turn (booleans and integers: which are
left of them), and symbolic dims are 2 where they may. The last one alone draws corners of the domain besides: with it,
denormals show what small integers may show as well."""
DIMS = (1, 4)
"""Least and greatest value of a symbolic dim; an attribute ``tir_var_upper_bound`` lowers the latter."""
_BY_PREFIX = {
    "bool": BOOLEANS, "bfloat": FLOATS, "float": FLOATS, "int": INTEGERS, "uint": Domain(0, 3)
}  # fmt: skip


def domain_of(dtype: str) -> Domain | None:
    """Return the domain of a dtype of TVM; ``None`` for one that has none (handles)."""
    return next((domain for prefix, domain in _BY_PREFIX.items() if dtype.startswith(prefix)), None)


@dataclass(frozen=True, slots=True)
class Given:
    """Inputs that are fixed: dims by name, arrays by function and parameter."""

    dims: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[tuple[str, str], np.ndarray[Any, Any]] = field(default_factory=dict)

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for equal givens, and hashable."""
        arrays = [(*name, str(array.dtype), array.shape, array.tobytes()) for name, array in self.values.items()]
        return (*sorted(self.dims.items()), *sorted(arrays))
