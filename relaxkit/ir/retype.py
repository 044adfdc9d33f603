"""Module-wide edits of types: other dims, other dtypes, no vdevices; applied to every type, shape and constant."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import numpy as np
import tvm
from tvm import relax

from relaxkit.ir.equality import all_same, same
from relaxkit.ir.types import flat

_VARS = (relax.Var, tvm.tirx.Var)  # one class since TVM 0.26

T = TypeVar("T", bound="Mutable")

# What stands for a var now; a var that nothing stands for is its own answer.
Resolve = Callable[[Any], Any]


def itself(var: relax.Var) -> Any:
    """Return the var: the resolver of a program in which every var stands for itself."""
    return var


class Invalid(Exception):
    """The edited module cannot be built: the candidate is discarded."""


class Ends(enum.Enum):
    """Which dims stay where a rank is lowered."""

    FIRST = 0
    LAST = 1


class Mutable:
    """A dataclass of containers that are copied with it, and of TVM's immutable objects, which are shared."""

    __slots__ = ()

    def copy(self: T) -> T:
        """Return an independent copy."""
        return type(self)(*(_copied(getattr(self, item.name)) for item in fields(self)))  # type: ignore[arg-type]  # a dataclass


def _copied(value: Any) -> Any:
    if isinstance(value, Mutable):
        return value.copy()
    if type(value) is list:
        return [_copied(item) for item in value]
    return {key: _copied(item) for key, item in value.items()} if type(value) is dict else value


@dataclass(slots=True)
class Retype(Mutable):
    """A change of every type of a module.

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

    @property
    def empty(self) -> bool:
        """Say whether nothing changes."""
        return not (self.dims or self.symbols or self.dtypes) and self.devices and self.rank is None

    def prim(self, value: Any, resolve: Resolve = itself) -> Any:
        """Return a dim or index with symbolic vars replaced; static extents only when it is a whole dim."""
        whole = True

        def given(var: relax.Var) -> Any:
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
        """Return what one extent of a shape becomes."""
        if isinstance(value, tvm.tirx.IntImm):
            new = self.dims.get(int(value))
            return value if new is None else tvm.tirx.IntImm(dtype_of(value), new)
        return self.prim(value, resolve)

    def dims_of(self, values: Sequence[Any], resolve: Resolve = itself) -> list[Any]:
        """Return what the dims of a shape become."""
        kept = list(values)
        if self.rank is not None and len(kept) > self.rank:
            kept = kept[: self.rank] if self.end is Ends.FIRST else kept[len(kept) - self.rank :]
        return [self.dim(item, resolve) for item in kept]

    def type(self, ty: relax.Type, resolve: Resolve = itself) -> Any:
        """Return the type in the place of ``ty``; the same object where nothing changes."""
        if isinstance(ty, relax.TensorType):
            return self._tensor(ty, resolve)
        if isinstance(ty, relax.TupleType):
            fields = [self.type(item, resolve) for item in ty.fields]
            return ty if all_same(fields, ty.fields) else relax.TupleType(fields)
        if isinstance(ty, relax.ShapeType):
            if ty.values is None:
                return ty
            values = self.dims_of(ty.values, resolve)
            return ty if all_same(values, ty.values) else relax.ShapeType(values)
        if isinstance(ty, relax.FuncType) and ty.params is not None:
            params, ret = [self.type(item, resolve) for item in ty.params], self.type(ty.ret, resolve)
            return ty if all_same(params, ty.params) and same(ret, ty.ret) else relax.FuncType(params, ret, ty.purity)
        return ty

    def constant(self, constant: Any) -> Any:
        """Return a constant of the new shape and dtype; its elements are the first, repeated where they are too few."""
        ty = self.type(constant.ty)
        if same(ty, constant.ty) or not isinstance(constant.ty, relax.TensorType):
            return constant
        old = constant.value.numpy()
        shape = tuple(int(item) for item in ty.shape.values)
        data = np.resize(old, shape) if old.size else np.zeros(shape, old.dtype)
        return relax.const(data.astype(str(ty.dtype)), str(ty.dtype))

    def _tensor(self, ty: relax.Type, resolve: Resolve) -> Any:
        shape = ty.shape
        kept = True
        if isinstance(shape, relax.ShapeExpr):
            values = self.dims_of(shape.values, resolve)
            if not all_same(values, shape.values):
                kept, shape = False, relax.ShapeExpr(values)
        elif shape is not None:
            shape = resolve(shape)
            kept = same(shape, ty.shape)
        old = "" if ty.dtype is None else str(ty.dtype)
        dtype = self.dtypes.get(old, old)
        ndim = ty.ndim if self.rank is None else min(ty.ndim, self.rank)
        if kept and ndim == ty.ndim and dtype == old and (self.devices or ty.vdevice is None):
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
        return value if same(left, value.a) and same(right, value.b) else type(value)(left, right)
    if isinstance(value, tvm.tirx.Cast):
        inner = _substituted(value.value, given)
        return value if same(inner, value.value) else tvm.tirx.Cast(dtype_of(value), inner)
    if isinstance(value, relax.Call):
        args = [_substituted(each, given) for each in value.args]
        return value if all_same(args, value.args) else relax.Call(value.op, args, value.attrs, list(value.ty_args))
    return value


def dtype_of(expr: relax.Expr) -> str:
    """Return the dtype of a prim expression, as text."""
    return str(expr.ty.dtype) if hasattr(expr.ty, "dtype") else str(expr.ty)


def rank_of(ty: relax.Type) -> int:
    """Return the highest number of dims of a tensor or shape in a type; 0 where there is none or it is unknown."""
    ranked = [leaf for leaf in flat(ty) if isinstance(leaf, relax.TensorType | relax.ShapeType)]
    return max((int(leaf.ndim) for leaf in ranked if leaf.ndim > 0), default=0)


def fields_of(node: Any) -> dict[str, Any]:
    """Return the fields of a node of TVM by name; none of ``None`` and of what is no node."""
    info = None if node is None else getattr(type(node), "__tvm_ffi_type_info__", None)
    return {} if info is None else {item.name: getattr(node, item.name) for item in info.fields}


def with_fields(node: Any, **changed: Any) -> Any:
    """Return a node of the same class with other values in some fields."""
    return tvm.ir.make_node(type(node).__tvm_ffi_type_info__.type_key, **{**fields_of(node), **changed})
