"""Copies of Relax functions that were not drawn here: with fresh variables, and changed on the way.

A copy is emitted binding by binding through a block builder, so that TVM infers every type anew: whatever a change does
to a type reaches all that depends on it, or TVM refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import GenericConst, GlobalVar

Change = Callable[["Copier", Any, Any], Any]
"""Given the copier, a binding and the copy of its value: the value to bind instead."""


_BINARY = frozenset(
    {
        tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod, tirx.Min, tirx.Max, tirx.EQ,
        tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.And, tirx.Or,
    }
)  # fmt: skip


class Uncopied(Exception):
    """An expression of a kind that copies do not know; the message names it."""


class Copier:
    """Copies functions into a builder.

    Attributes:
        builder: Takes the bindings; its module's functions are those that copies may call.
        functions: What calls of other functions become, by the global variable of the original.
        symbols: What symbolic dims become.
        sizes: Static dims that become others, wherever a type or shape says them.
        vars: The copies of the variables seen so far.
        params: The copies of the parameters of the function at hand.
        change: Called before a binding is emitted.
        fresh: Whether symbolic dims that ``symbols`` does not name get a copy of their own.
    """

    def __init__(
        self,
        builder: Any,
        functions: Mapping[Any, Any] | None = None,
        *,
        change: Change | None = None,
        sizes: Mapping[int, int] | None = None,
        fresh: bool = True,
    ) -> None:
        self.builder = builder
        self.functions = dict(functions or {})
        self.symbols: dict[Any, Any] = {}
        self.sizes = dict(sizes or {})
        self.vars: dict[Any, Any] = {}
        self.change = change
        self.fresh = fresh
        self.params: list[Any] = []

    def function(self, function: Any, attrs: Mapping[str, Any] | None = None) -> Any:
        """A copy of a function, with other attributes when given; raises ``Uncopied``, and whatever TVM raises."""
        params = [self.parameter(param) for param in function.params]
        self.params = params
        self.builder.begin_scope(params)
        try:
            body = self.sequence(function.body)
        finally:
            self.builder.end_scope()
        made = relax.Function(params, body, is_pure=bool(function.is_pure))
        kept = attributes(function) if attrs is None else attrs
        return made.with_attrs(dict(kept)) if kept else made

    def parameter(self, param: Any) -> Any:
        """A copy of a parameter."""
        if isinstance(param.ty, tvm.ir.PrimType):  # dims may speak of it
            made = self.symbols.setdefault(param, tirx.Var(param.name, param.ty))
        else:
            made = relax.Var(param.name, self.type(param.ty))
        self.vars[param] = made
        return made

    def sequence(self, body: Any) -> Any:
        """A copy of a ``SeqExpr``."""
        if not isinstance(body, relax.SeqExpr):
            raise Uncopied(f"a body that is a {type(body).__name__}")
        blocks = []
        for block in body.blocks:
            dataflow = isinstance(block, relax.DataflowBlock)
            if dataflow:
                self.builder._begin_dataflow_block()
            else:
                self.builder._begin_binding_block()
            try:
                for binding in block.bindings:
                    self.binding(binding)
            finally:
                made = self.builder._end_block()
            if len(made.bindings):
                blocks.append(made)
        return self.builder.normalize(relax.SeqExpr(blocks, self.expr(body.body)))

    def binding(self, binding: Any) -> None:
        """Copy a binding."""
        var = binding.var
        value = self.expr(binding.value)
        cast = isinstance(binding, relax.MatchCast)
        if self.change is not None and not cast:
            value = self.change(self, binding, value)
        if cast:
            made = self.builder.match_cast(value, self.type(binding.ty), name_hint=var.name)
            if not isinstance(var, relax.DataflowVar) and isinstance(made, relax.DataflowVar):
                made = self.builder.emit_output(made, var.name)
        else:
            made = self.emit(value, var)
        self.vars[var] = made

    def emit(self, value: Any, like: Any) -> Any:
        """Bind a value to a variable of the kind (local to its dataflow block, or not) and name of another."""
        local = isinstance(like, relax.DataflowVar)
        if not local and self.builder.current_block_is_dataflow():
            return self.builder.emit_output(value, like.name)
        return self.builder.emit(value, like.name)

    def local(self, value: Any) -> Any:
        """Bind a value that nothing outside of its block sees."""
        return self.builder.emit(value)

    def expr(self, expr: Any) -> Any:
        """A copy of an expression; raises ``Uncopied``."""
        if isinstance(expr, relax.Var):
            if expr not in self.vars and isinstance(expr.ty, tvm.ir.PrimType):
                return self.dim(expr)
            return self.vars.get(expr, expr)
        if isinstance(expr, GlobalVar):
            return self.functions.get(expr, expr)
        if isinstance(expr, relax.Call):
            op = self.expr(expr.op) if not isinstance(expr.op, tvm.ir.Op) else expr.op
            args = [self.expr(each) for each in expr.args]
            return relax.Call(op, args, expr.attrs, [self.type(each) for each in expr.ty_args])
        if isinstance(expr, relax.Tuple):
            return relax.Tuple([self.expr(each) for each in expr.fields])
        if isinstance(expr, relax.TupleGetItem):
            return relax.TupleGetItem(self.expr(expr.tuple_value), expr.index)
        if isinstance(expr, relax.If):
            cond = self.expr(expr.cond)
            return relax.If(cond, self.sequence(expr.true_branch), self.sequence(expr.false_branch))
        if isinstance(expr, relax.ShapeExpr):
            return relax.ShapeExpr([self.dim(each) for each in expr.values])
        if isinstance(expr, GenericConst):
            return self._constant(expr)
        if isinstance(expr, relax.Function):
            return self.function(expr)
        if isinstance(expr, relax.ExternFunc):
            return expr
        if isinstance(expr.ty, tvm.ir.PrimType):
            # A number may be an axis as well as a size: only shapes change with the sizes.
            return expr if isinstance(expr, (tirx.IntImm, tirx.FloatImm)) else self.dim(expr)
        if isinstance(expr, tvm.ir.StringImm):
            return expr
        raise Uncopied(f"an expression of kind {type(expr).__name__}")

    def _constant(self, expr: Any) -> Any:
        """A constant; one whose size changes is filled with its own elements in order."""
        if not isinstance(expr.ty, relax.TensorType) or not self.sizes:
            return expr
        shape = tuple(int(each) for each in expr.value.shape)
        wanted = tuple(self.sizes.get(each, each) for each in shape)
        if wanted == shape:
            return expr
        return relax.const(np.resize(expr.value.numpy(), wanted), str(expr.ty.dtype))

    def dim(self, dim: Any) -> Any:
        """A dim in the copy."""
        if isinstance(dim, int):
            return self.sizes.get(dim, dim)
        if isinstance(dim, tirx.IntImm):
            size = int(dim)
            return tirx.IntImm(str(dim.ty), self.sizes[size]) if size in self.sizes else dim
        if isinstance(dim, tirx.Var):
            if dim not in self.symbols:
                self.symbols[dim] = tirx.Var(dim.name, dim.ty) if self.fresh else dim
            return self.symbols[dim]
        sides = [getattr(dim, name, None) for name in ("a", "b")]
        if type(dim) in _BINARY and all(side is not None for side in sides):
            return type(dim)(*(self.dim(side) for side in sides))
        if isinstance(dim, tirx.Cast):
            return tirx.Cast(dim.ty, self.dim(dim.value))
        if isinstance(dim, relax.Call):
            return relax.Call(dim.op, [self.dim(each) for each in dim.args], dim.attrs, list(dim.ty_args))
        if isinstance(dim, (tirx.FloatImm, tvm.ir.StringImm)):
            return dim
        raise Uncopied(f"a dim of kind {type(dim).__name__}")

    def type(self, ty: Any) -> Any:
        """A type in the copy; raises ``Uncopied`` for a type that speaks of a variable."""
        if isinstance(ty, relax.TensorType):
            if ty.shape is None:
                return ty
            if not isinstance(ty.shape, relax.ShapeExpr):
                shape = self.expr(ty.shape)
                return relax.TensorType(shape, ty.dtype, ty.vdevice)
            return relax.TensorType([self.dim(each) for each in ty.shape.values], ty.dtype, ty.vdevice)
        if isinstance(ty, relax.ShapeType):
            if ty.values is None:
                return ty
            return relax.ShapeType([self.dim(each) for each in ty.values])
        if isinstance(ty, relax.TupleType):
            return relax.TupleType([self.type(each) for each in ty.fields])
        if isinstance(ty, (tvm.ir.PrimType, relax.AnyType)):
            return ty
        if isinstance(ty, relax.FuncType):
            if ty.params is None:
                return ty
            return relax.FuncType([self.type(each) for each in ty.params], self.type(ty.ret), bool(ty.purity))
        raise Uncopied(f"a type of kind {type(ty).__name__}")


def attributes(function: Any) -> dict[str, Any]:
    """Attributes of a function, none included."""
    return {} if function.attrs is None else {str(key): function.attrs[key] for key in function.attrs.keys()}  # noqa: SIM118
