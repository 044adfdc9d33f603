"""Copies of Relax functions that were not drawn here: with fresh variables, and changed on the way.

A copy is emitted binding by binding through a block builder, so that TVM infers every type anew: whatever a change does
to a type reaches all that depends on it, or TVM refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.ir import GenericConst, GlobalVar

from relaxkit.ir.functions import attributes
from relaxkit.ir.retype import Retype

Change = Callable[["Copier", Any, Any], Any]
"""Given the copier, a binding and the copy of its value: the value to bind instead."""


_TYPES = (
    relax.TensorType, relax.TupleType, relax.ShapeType, relax.FuncType, relax.AnyType, tvm.ir.PrimType
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
        builder: relax.BlockBuilder,
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
        self._retype = Retype(dims=self.sizes)
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
        """Return a copy of a parameter."""
        if isinstance(param.ty, tvm.ir.PrimType):  # dims may speak of it
            made = self.symbols.setdefault(param, tirx.Var(param.name, param.ty))
        else:
            made = relax.Var(param.name, self.type(param.ty))
        self.vars[param] = made
        return made

    def sequence(self, body: Any) -> Any:
        """Return a copy of a ``SeqExpr``."""
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

    def binding(self, binding: relax.Binding) -> None:
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

    def expr(self, expr: relax.Expr) -> Any:
        """Return a copy of an expression; raises ``Uncopied``."""
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
            return relax.If(self.expr(expr.cond), self.sequence(expr.true_branch), self.sequence(expr.false_branch))
        if isinstance(expr, relax.ShapeExpr):
            return relax.ShapeExpr([self.dim(each) for each in expr.values])
        if isinstance(expr, GenericConst):
            return self._retype.constant(expr) if self.sizes else expr
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

    def dim(self, dim: relax.Expr | int) -> relax.Expr | int:
        """Return a dim of the copy; raises ``Uncopied`` for one of a kind whose variables cannot be replaced."""
        if isinstance(dim, int):
            return self.sizes.get(dim, dim)
        made = self._retype.dim(dim, self._resolved)
        if made is dim and self.fresh and tirx.analysis.undefined_vars(dim):
            raise Uncopied(f"a dim of kind {type(dim).__name__}")
        return made

    def type(self, ty: relax.Type) -> relax.Type:
        """Return a type of the copy; raises ``Uncopied``."""
        if not isinstance(ty, _TYPES):
            raise Uncopied(f"a type of kind {type(ty).__name__}")
        return self._retype.type(ty, self._resolved)

    def _resolved(self, var: relax.Var) -> relax.Expr:
        """Return what stands for a variable in a type: a symbolic dim of the copy's own, or the copy of a shape."""
        if var in self.vars or not isinstance(var.ty, tvm.ir.PrimType):
            return self.vars.get(var, var)
        if var not in self.symbols:
            self.symbols[var] = tirx.Var(var.name, var.ty) if self.fresh else var
        return self.symbols[var]
