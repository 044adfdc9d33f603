"""Values: what a function under construction has at hand, with what is known about each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import tvm_ffi
from tvm import relax, tirx
from tvm.ir import PrimType

from strategies.scope.bounds import FLOAT8, Bounds, dtype_bounds

Dim = Any
"""A dimension: a Python ``int`` when static, else a ``tirx`` expression over symbolic dims (int64)."""


_MISREAD = 2.0**-6
"""Numbers of float8 nearer to zero than this, and zero, are read wrongly."""


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A value that later bindings may use.

    Attributes:
        expr: The Relax variable or constant.
        ty: Its Relax type.
        bounds: Interval that holds every element, for all inputs of the default domain; of a tensor made
            without any, all that its dtype may hold in a drawn module; ``None`` for what is no tensor.
        parts: For a tuple, its elements as values (their ``expr`` is meaningless: project first).
        actual: For a tensor of unknown shape, the dims that it will really have where that is known, else ``None``.
        device: Index of the vdevice it was moved to, or ``None`` for the function's own; only like goes with like.
        is_parameter: Whether it is a parameter of the function under construction.
        dims: Shape of a tensor whose shape is known, else ``None``.  Derived.
        dtype: Element type of a tensor, ``""`` when unknown or no tensor.  Derived.
        rank: Number of dims of a tensor, -1 when unknown or no tensor.  Derived.
    """

    expr: Any
    ty: Any
    bounds: Bounds | None = None
    parts: tuple[Value, ...] = ()
    actual: tuple[Dim, ...] | None = None
    device: int | None = None
    is_parameter: bool = False
    dims: tuple[Dim, ...] | None = field(init=False, default=None)
    dtype: str = field(init=False, default="")
    rank: int = field(init=False, default=-1)

    def __post_init__(self) -> None:
        if not isinstance(self.ty, relax.TensorType):
            return
        dtype = self.ty.dtype
        object.__setattr__(self, "dtype", "" if dtype is None else str(dtype))
        object.__setattr__(self, "rank", self.ty.ndim)
        if self.bounds is None and dtype is not None:
            object.__setattr__(self, "bounds", dtype_bounds(self.dtype))
        if isinstance(self.ty.shape, relax.ShapeExpr):
            object.__setattr__(self, "dims", dims_of(self.ty.shape))

    @property
    def known(self) -> Bounds:
        """The bounds of a tensor of known dtype, which always has some."""
        if self.bounds is None:
            raise TypeError(f"a value of type {self.ty} has no bounds")
        return self.bounds

    @property
    def read_bounds(self) -> Bounds:
        """The bounds as the kernel that reads the tensor sees them.

        TVM defect: where float8 is widened, zero and subnormal numbers become some other number up to 2**-6 (a zero of
        float8_e4m3fn becomes 2**-7).
        """
        known = self.known
        if self.dtype not in FLOAT8 or known.lo > _MISREAD or known.hi < -_MISREAD:
            return known
        return Bounds(min(known.lo, -_MISREAD), max(known.hi, _MISREAD))

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The dims of a tensor of known shape; of anything else none."""
        return self.dims or ()

    @property
    def is_tensor(self) -> bool:
        """Say whether this is a tensor of known shape and dtype, what operators take."""
        return self.dims is not None and bool(self.dtype)

    @property
    def is_local(self) -> bool:
        """Say whether it is seen inside its dataflow block only."""
        return isinstance(self.expr, relax.DataflowVar)

    @property
    def is_function(self) -> bool:
        """Say whether this is a local function."""
        return isinstance(self.ty, relax.FuncType)

    @property
    def is_tuple(self) -> bool:
        """Say whether this is a tuple."""
        return isinstance(self.ty, relax.TupleType)

    @property
    def is_shape(self) -> bool:
        """Say whether this is a shape value."""
        return isinstance(self.ty, relax.ShapeType)

    @property
    def is_prim(self) -> bool:
        """Say whether this is a primitive (int64) value."""
        return isinstance(self.ty, PrimType)

    @property
    def is_static(self) -> bool:
        """Say whether every dim is known as a number."""
        return self.dims is not None and all(isinstance(dim, int) for dim in self.dims)


class OwnDims:
    """Symbolic dims of a function's own: a variable for each different dim of its callers, numbered as they come."""

    def __init__(self) -> None:
        self._known: list[tuple[Dim, Any]] = []

    def __call__(self, dim: Dim) -> Dim:
        """Find the own dim of a caller's; a number stays one."""
        if isinstance(dim, int):
            return dim
        for known, own in self._known:
            if same_dim(known, dim):
                return own
        self._known.append((dim, tirx.Var(f"d{len(self._known)}", "int64")))
        return self._known[-1][1]

    def types(self, values: Sequence[Value]) -> list[Any]:
        """Give the types that tensors have as parameters of the function."""
        return [relax.TensorType([self(dim) for dim in value.shape], value.dtype) for value in values]


def dims_of(shape: Any) -> tuple[Dim, ...]:
    """Return dims of a ``relax.ShapeExpr``, static ones as ``int``."""
    return tuple(int(dim) if isinstance(dim, tirx.IntImm) else dim for dim in shape.values)


def same_dim(left: Dim, right: Dim) -> bool:
    """Say whether two dims are the same expression (not: whether they are provably equal)."""
    if isinstance(left, int) or isinstance(right, int):
        return isinstance(left, int) and isinstance(right, int) and left == right
    return bool(left.same_as(right)) or (
        not isinstance(left, tirx.Var) and not isinstance(right, tirx.Var) and tvm_ffi.structural_equal(left, right)
    )


def same_dims(left: Sequence[Dim] | None, right: Sequence[Dim] | None) -> bool:
    """Say whether two shapes are known and the same, dim by dim."""
    if left is None or right is None or len(left) != len(right):
        return False
    return all(same_dim(a, b) for a, b in zip(left, right, strict=True))


def stretches(dims: Sequence[Dim], over: Sequence[Dim]) -> bool:
    """Say whether dims broadcast to others as they are."""
    last = over[len(over) - len(dims) :]
    return len(dims) <= len(over) and all(
        (isinstance(dim, int) and dim == 1) or same_dim(dim, wide) for dim, wide in zip(dims, last, strict=True)
    )


def elements(value: Value) -> Dim:
    """Say how many elements a tensor has."""
    return math.prod(value.shape)
