"""Module-wide edits of types: other dims, other dtypes, no vdevices; applied to every type, shape and constant."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tvm
from tvm import relax

_VARS = (relax.Var, tvm.tirx.Var)  # one class since TVM 0.26

# What stands for a var now; a var that nothing stands for is its own answer.
Resolve = Callable[[Any], Any]


def itself(var: Any) -> Any:
    """The resolver of a program in which every var stands for itself."""
    return var


class Invalid(Exception):
    """The edited module cannot be built: the candidate is discarded."""


class Ends(enum.Enum):
    """Which dims stay where a rank is lowered."""

    FIRST = 0
    LAST = 1


@dataclass(slots=True)
class Retype:
    """What to change in every type of a module.

    Attributes:
        dims: Static extent -> its new extent (both elements, not bytes).
        symbols: Symbolic var -> the prim expression that stands for it.
        dtypes: Dtype name -> its new name.
        devices: Whether vdevices stay.
        rank: How many dims a shape keeps at most; ``None`` for all.
        end: Which ones it keeps.
    """

    dims: dict[int, int] = field(default_factory=dict)
    symbols: dict[Any, Any] = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)
    devices: bool = True
    rank: int | None = None
    end: Ends = Ends.FIRST

    def copy(self) -> Retype:
        """An independent copy."""
        return Retype(dict(self.dims), dict(self.symbols), dict(self.dtypes), self.devices, self.rank, self.end)

    @property
    def empty(self) -> bool:
        """Whether nothing changes."""
        return not (self.dims or self.symbols or self.dtypes) and self.devices and self.rank is None

    def prim(self, value: Any, resolve: Resolve = itself) -> Any:
        """A prim expression (dim, index) with symbolic vars replaced; static extents only when it is a whole dim."""
        whole = True

        def given(var: Any) -> Any:
            nonlocal whole
            new = resolve(var)
            new = self.symbols.get(new, new) if isinstance(new, _VARS) else new
            whole = whole and isinstance(new, _VARS)
            return new

        result = _substituted(value, given)
        if whole or isinstance(result, tvm.tirx.IntImm):  # vars for vars: leave it as it was written
            return result
        return tvm.sym.Analyzer().simplify(result)

    def dim(self, value: Any, resolve: Resolve = itself) -> Any:
        """One extent of a shape."""
        if isinstance(value, tvm.tirx.IntImm):
            new = self.dims.get(int(value))
            return value if new is None else tvm.tirx.IntImm(dtype_of(value), new)
        return self.prim(value, resolve)

    def dims_of(self, values: Sequence[Any], resolve: Resolve = itself) -> list[Any]:
        """The dims of a shape."""
        kept = list(values)
        if self.rank is not None and len(kept) > self.rank:
            kept = kept[: self.rank] if self.end is Ends.FIRST else kept[len(kept) - self.rank :]
        return [self.dim(item, resolve) for item in kept]

    def type(self, ty: Any, resolve: Resolve = itself) -> Any:
        """The type that takes the place of ``ty``; the same object where nothing changes."""
        if isinstance(ty, relax.TensorType):
            return self._tensor(ty, resolve)
        if isinstance(ty, relax.TupleType):
            fields = [self.type(item, resolve) for item in ty.fields]
            return ty if _all_same(fields, ty.fields) else relax.TupleType(fields)
        if isinstance(ty, relax.ShapeType):
            if ty.values is None:
                return ty
            values = self.dims_of(ty.values, resolve)
            return ty if _all_same(values, ty.values) else relax.ShapeType(values)
        if isinstance(ty, relax.FuncType) and ty.params is not None:
            params, ret = [self.type(item, resolve) for item in ty.params], self.type(ty.ret, resolve)
            return ty if _all_same(params, ty.params) and _same(ret, ty.ret) else relax.FuncType(params, ret, ty.purity)
        return ty

    def constant(self, constant: Any) -> Any:
        """A constant of the new shape and dtype; its elements are the first ones, repeated where there are too few."""
        ty = self.type(constant.ty)
        if _same(ty, constant.ty) or not isinstance(constant.ty, relax.TensorType):
            return constant
        old = constant.value.numpy()
        shape = tuple(int(item) for item in ty.shape.values)
        data = np.resize(old, shape) if old.size else np.zeros(shape, old.dtype)
        return relax.const(data.astype(str(ty.dtype)), str(ty.dtype))

    def _tensor(self, ty: Any, resolve: Resolve) -> Any:
        shape = ty.shape
        same = True
        if isinstance(shape, relax.ShapeExpr):
            values = self.dims_of(shape.values, resolve)
            if not _all_same(values, shape.values):
                same, shape = False, relax.ShapeExpr(values)
        elif shape is not None:
            shape = resolve(shape)
            same = _same(shape, ty.shape)
        old = "" if ty.dtype is None else str(ty.dtype)
        dtype = self.dtypes.get(old, old)
        ndim = ty.ndim if self.rank is None else min(ty.ndim, self.rank)
        if same and ndim == ty.ndim and dtype == old and (self.devices or ty.vdevice is None):
            return ty
        device = ty.vdevice if self.devices else None
        if shape is not None:
            return relax.TensorType(shape, dtype or None, device)
        return relax.TensorType(None, dtype or None, device, ndim)


def _substituted(value: Any, given: Resolve) -> Any:
    if isinstance(value, _VARS):
        return given(value)
    if hasattr(value, "a") and hasattr(value, "b"):
        left, right = _substituted(value.a, given), _substituted(value.b, given)
        return value if _same(left, value.a) and _same(right, value.b) else type(value)(left, right)
    if isinstance(value, tvm.tirx.Cast):
        inner = _substituted(value.value, given)
        return value if _same(inner, value.value) else tvm.tirx.Cast(dtype_of(value), inner)
    return value


def dtype_of(expr: Any) -> str:
    """The dtype of a prim expression, as text."""
    return str(expr.ty.dtype) if hasattr(expr.ty, "dtype") else str(expr.ty)


def _same(left: Any, right: Any) -> bool:
    """Whether two handles are of one object: reading a field twice gives two handles, so ``is`` would not tell."""
    return left is right or bool(left.same_as(right))


def _all_same(new: Any, old: Any) -> bool:
    return len(new) == len(old) and all(map(_same, new, old))


def rank_of(ty: Any) -> int:
    """The number of dims of a tensor or shape, the highest in a tuple; 0 where there are none or they are unknown."""
    if isinstance(ty, relax.TupleType):
        return max(map(rank_of, ty.fields), default=0)
    return max(0, int(ty.ndim)) if isinstance(ty, relax.TensorType | relax.ShapeType) else 0
