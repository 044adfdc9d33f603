"""Passes without any bug: what every oracle must stay silent on."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax


def identity() -> Any:
    """Returns its input."""
    return tvm.transform.module_pass(lambda mod, _context: mod, opt_level=0, name="identity")


@relax.expr_functor.mutator
class _Rebuilder(relax.PyExprMutator):  # type: ignore[misc]  # TVM ships no types
    """Makes a new object of every expression that it meets."""

    def visit_call_(self, call: Any) -> Any:
        op = call.op if isinstance(call.op, tvm.ir.Op) else self.visit_expr(call.op)
        args = [self.visit_expr(arg) for arg in call.args]
        return relax.Call(op, args, call.attrs, call.ty_args, call.span)

    def visit_tuple_(self, value: Any) -> Any:
        return relax.Tuple([self.visit_expr(field) for field in value.fields], value.span)

    def visit_tuple_getitem_(self, value: Any) -> Any:
        return relax.TupleGetItem(self.visit_expr(value.tuple_value), value.index, value.span)

    def visit_shape_expr_(self, value: Any) -> Any:
        return relax.ShapeExpr(list(value.values), value.span)

    def visit_generic_const_(self, value: Any) -> Any:
        payload = getattr(value, "value", None)
        if not hasattr(payload, "numpy") or not isinstance(value.ty, relax.TensorType):
            return value
        return relax.const(tvm.runtime.tensor(payload.numpy().copy()), payload.dtype)

    def visit_if_(self, value: Any) -> Any:
        branches = (self.visit_expr(value.true_branch), self.visit_expr(value.false_branch))
        return relax.If(self.visit_expr(value.cond), *branches, value.span)

    def visit_seq_expr_(self, value: Any) -> Any:
        blocks = [self.visit_binding_block(block) for block in value.blocks]
        return relax.SeqExpr(blocks, self.visit_expr(value.body), value.span)


def rebuild_everything() -> Any:
    """Makes every node of every Relax function anew."""

    def run(mod: Any, _context: Any) -> Any:
        rebuilder = _Rebuilder(mod)
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function):
                rebuilder.builder_.update_func(variable, rebuilder.visit_expr(function))
        return rebuilder.builder_.get()

    return tvm.transform.module_pass(run, opt_level=0, name="rebuild_everything")


def high_level() -> Any:
    """Swaps nothing, but has an ``opt_level`` at which a default ``Sequential`` leaves it out, by design of TVM."""

    def run(mod: Any, _context: Any) -> Any:
        result = mod.clone()
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function):
                result.update_func(variable, function.with_attr("tuned", 1))
        return result

    return tvm.transform.module_pass(run, opt_level=3, name="high_level")
