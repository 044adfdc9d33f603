"""Modules and passes for the tests of numeric comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx

op = relax.op
TT = relax.TensorType
F32 = "float32"


def var(name: str, shape: Any = (2, 3), dtype: str = F32) -> Any:
    return relax.Var(name, TT(shape, dtype))


def function(params: Sequence[Any], body: Callable[[Any], Any], attrs: dict[str, Any] | None = None) -> Any:
    """A module of one public function ``main``; ``body`` gets a block builder and gives the output."""
    bb = relax.BlockBuilder()
    with bb.function("main", list(params), attrs=attrs or {}):
        bb.emit_func_output(body(bb))
    return bb.finalize()


def elementwise(shape: Any = (2, 3), dtype: str = F32) -> Any:
    x, y = var("x", shape, dtype), var("y", shape, dtype)
    return function([x, y], lambda bb: bb.emit(op.multiply(bb.emit(op.add(x, y)), y)))


def weighted(outputs: int = 2, names: Sequence[str] = ("main",)) -> Any:
    """Functions with three weights, two of which are transformed before use."""
    bb = relax.BlockBuilder()
    for name in names:
        x, w, b, c = var("x", (4, 8)), var("w", (8, 8)), var("b", (8,)), var("c", (8,))
        with bb.function(name, [x, w, b, c], attrs={"num_input": 1}):
            with bb.dataflow():
                a = bb.emit(op.permute_dims(w))
                d = bb.emit(op.add(b, b))
                o = bb.emit(op.add(bb.emit(op.matmul(x, a)), d))
                o = bb.emit_output(op.add(o, c) if name == "main" else op.subtract(o, c))
                q = bb.emit_output(op.exp(x))
            bb.emit_func_output(relax.Tuple([o, q]) if outputs == 2 else o)
    return bb.finalize()


def reduction(length: int = 64) -> Any:
    """A matrix product, a sum and a subtraction that cancels."""
    x, w = var("x", (4, length)), var("w", (length, 4))

    def body(bb: Any) -> Any:
        product = bb.emit(op.matmul(x, w))
        shifted = bb.emit(op.subtract(product, bb.emit(op.mean(product, axis=[1], keepdims=True))))
        return bb.emit(op.sum(bb.emit(op.exp(bb.emit(op.tanh(shifted)))), axis=[0]))

    return function([x, w], body)


def symbolic() -> Any:
    n, m, k = (tirx.Var(name, "int64") for name in "nmk")
    x, s = relax.Var("x", TT((n, 3), F32)), relax.Var("s", relax.ShapeType([m]))
    z, p = relax.Var("z", TT(ndim=2, dtype=F32)), relax.Var("p", tvm.ir.PrimType("int64"))

    def body(bb: Any) -> Any:
        cast = bb.match_cast(z, TT((k, n), F32))
        product = bb.emit(op.matmul(cast, x))
        flat = bb.emit(op.reshape(x, (n * 3,)))
        return relax.Tuple([product, flat, bb.emit(op.shape_of(product)), relax.ShapeExpr([m + n]), p + 1])

    return function([x, s, z, p], body)


def with_constant(value: float = 1.0) -> Any:
    x = var("x")
    constant = relax.const(np.full((2, 3), value, F32), F32)
    return function([x], lambda bb: bb.emit(op.add(x, constant)))


def rewriting(name: str, change: Callable[[str, list[Any], Any], Any], contract: Any = None) -> Any:
    """A pass that replaces each operator call by ``change(operator, arguments, call)`` unless that is ``None``."""

    @relax.expr_functor.mutator
    class Rewriter(relax.PyExprMutator):
        def visit_call_(self, call: Any) -> Any:
            call = self.visit_expr_post_order(call)
            if not isinstance(call.op, tvm.ir.Op):
                return call
            changed = change(call.op.name, list(call.args), call)
            return call if changed is None else changed

    def run(module: Any, _context: Any) -> Any:
        result = module.clone()
        for gv, func in module.functions_items():
            if isinstance(func, relax.Function):
                result.update_func(gv, relax.analysis.remove_all_unused(Rewriter(module).visit_expr(func)))
        return relax.transform.Normalize()(result)

    built = tvm.transform.module_pass(run, opt_level=0, name=name)
    if contract is not None:
        built.contract = contract
    return built
