"""Modules for the tests of the minimizer: a defect's trigger in the middle of much that does not matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax

op = relax.op
TT = relax.TensorType
F32 = "float32"


def var(name: str, *shape: Any, dtype: str = F32, vdevice: Any = None) -> Any:
    """A tensor var."""
    return relax.Var(name, TT(shape, dtype, vdevice))


def chain(builder: Any, value: Any, length: int) -> Any:
    """Emit ``length`` unary operators, each on the one before."""
    for index in range(length):
        value = builder.emit((op.exp, op.tanh, op.abs, op.negative, op.sin)[index % 5](value))
    return value


def unrelated(builder: Any, name: str = "other") -> None:
    """A public function of eleven bindings with a symbolic dim, a tuple and two outputs."""
    n = tvm.tirx.Var("n", "int64")
    x, y = var("x", n, 4), var("y", 5, 8)
    with builder.function(name, [x, y]):
        with builder.dataflow():
            left, right = chain(builder, x, 6), chain(builder, y, 4)
            pair = builder.emit_output(relax.Tuple([left, right]))
        builder.emit_func_output(pair)


def two_functions() -> Any:
    """MergeCompositeFunctions fails on any module with a second function that has bindings."""
    builder = relax.BlockBuilder()
    unrelated(builder)
    x, w = var("x", 3, 4), var("w", 4, 8)
    with builder.function("main", [x, w]):
        with builder.dataflow():
            product = builder.emit(op.matmul(chain(builder, x, 5), w))
            first = builder.emit_output(chain(builder, op.nn.relu(product), 3))
            second = builder.emit_output(op.sum(first))
        builder.emit_func_output(relax.Tuple([first, second]))
    return builder.finalize()


def typed_devices() -> Any:
    """UpdateVDevice modifies its input wherever a type has the device."""
    device = relax.VDevice("llvm")
    builder = relax.BlockBuilder()
    unrelated(builder)
    base = builder.finalize()
    builder = relax.BlockBuilder(tvm.IRModule(dict(base.functions), global_infos={"vdevice": [device]}))
    x, y = var("x", 3, 4, vdevice=device), var("y", 3, 4, vdevice=device)
    with builder.function("main", [x, y]):
        with builder.dataflow():
            out = builder.emit_output(chain(builder, builder.emit(op.add(x, y)), 5))
        builder.emit_func_output(out)
    return builder.finalize()


def private_symbolic() -> Any:
    """InlinePrivateFunctions leaves a callee's symbolic dim behind; the call stands between other bindings."""
    builder = relax.BlockBuilder()
    k = tvm.tirx.Var("k", "int64")
    p = var("p", k, 4)
    with builder.function("helper", [p], private=True):
        with builder.dataflow():
            full = builder.emit(op.full(relax.ShapeExpr([k, 4]), relax.const(1.0, F32), F32))
            out = builder.emit_output(op.add(chain(builder, p, 3), full))
        helper = builder.emit_func_output(out)
    unrelated(builder)
    n = tvm.tirx.Var("n", "int64")
    x = var("x", n, 4)
    with builder.function("main", [x]):
        before = chain(builder, x, 4)
        called = builder.emit(tvm.ir.Call(helper, [before]))
        after = chain(builder, called, 3)
        builder.emit_func_output(relax.Tuple([after, relax.Tuple([called, before])]))
    return builder.finalize()


def transposed_output() -> Any:
    """FuseTransposeMatmul raises when the transposed weight is used a second time."""
    builder = relax.BlockBuilder()
    unrelated(builder)
    x, w = var("x", 3, 4), var("w", 8, 4)
    with builder.function("main", [x, w]):
        with builder.dataflow():
            before = chain(builder, x, 4)
            turned = builder.emit_output(op.permute_dims(w))
            product = builder.emit_output(op.matmul(before, turned))
            out = builder.emit_output(op.exp(product))
        last = builder.emit(op.tanh(out))
        builder.emit_func_output(relax.Tuple([turned, product, last]))
    return builder.finalize()


def rank_only_weight() -> Any:
    """VMShapeLower kills the process on a weight of which only the rank is known."""
    builder = relax.BlockBuilder()
    unrelated(builder)
    x, w = var("x", 3, 4), relax.Var("w", TT(ndim=2, dtype=F32))
    with builder.function("main", [x, w], attrs={"num_input": 1}):
        with builder.dataflow():
            before = builder.emit_output(chain(builder, x, 5))
        known = builder.match_cast(w, TT((4, 8), F32))
        builder.emit_func_output(builder.emit(op.matmul(before, known)))
    return builder.finalize()


def guarded_log() -> Any:
    """A logarithm whose operand is guarded, and a tanh, in a function with two outputs."""
    builder = relax.BlockBuilder()
    unrelated(builder)
    x, w = var("x", 3, 4), var("w", 4, 5)
    with builder.function("main", [x, w]):
        with builder.dataflow():
            positive = builder.emit(op.add(builder.emit(op.abs(chain(builder, x, 3))), relax.const(1.0, F32)))
            product = builder.emit_output(op.matmul(builder.emit(op.log(positive)), w))
            out = builder.emit_output(op.sum(builder.emit(op.tanh(product)), [0]))
        builder.emit_func_output(relax.Tuple([out, product]))
    return builder.finalize()


def branches() -> Any:
    """A nested ``If`` whose branches have blocks of their own, and a local function."""
    builder = relax.BlockBuilder()
    x, c = var("x", 2, 3), relax.Var("c", TT((), "bool"))

    def branch(function: Any) -> Any:
        first, second = relax.DataflowVar("d", x.ty), relax.Var("g", x.ty)
        block = relax.DataflowBlock([relax.VarBinding(first, function(x)), relax.VarBinding(second, op.add(first, x))])
        return relax.SeqExpr([block], second)

    def nested() -> Any:
        inner = relax.Var("v", x.ty)
        block = relax.BindingBlock([relax.VarBinding(inner, relax.If(c, branch(op.sin), branch(op.cos)))])
        return relax.SeqExpr([block], inner)

    with builder.function("main", [c, x]):
        chosen = builder.emit(relax.If(c, branch(op.exp), nested()))
        p = var("p", 2, 3)
        local = relax.Function([p], relax.SeqExpr([], p), p.ty)
        closure = builder.emit(local)
        builder.emit_func_output(builder.emit(tvm.ir.Call(closure, [chosen])))
    return builder.finalize()


def kernels() -> Any:
    """Kernels, constants of several dtypes, tuples and a match cast."""
    builder = relax.BlockBuilder()
    n = tvm.tirx.Var("n", "int64")
    x, y = var("x", n, 4), relax.Var("y", TT(ndim=2, dtype="float16"))
    with builder.function("main", [x, y]):
        pair = builder.emit(relax.Tuple([x, relax.const(np.arange(4), "int64")]))
        total = builder.emit(op.add(builder.emit(relax.TupleGetItem(pair, 0)), x))
        cast = builder.match_cast(y, TT((n, 4), "float16"))
        wide = builder.emit(op.astype(cast, F32))
        out = builder.emit(op.multiply(total, wide))
        shaped = builder.emit(op.reshape(out, relax.ShapeExpr([n * 4])))
        builder.emit_func_output(relax.Tuple([shaped, relax.Tuple([pair])]))
    return relax.transform.LegalizeOps()(builder.finalize())


def kernel_in_kernel() -> Any:
    """A kernel that calls another for each element, and one that nothing calls."""
    return tvm.script.from_source("""
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def added(a: T.float32, b: T.float32) -> T.float32:
        return a + b

    @T.prim_func(private=True, s_tir=True)
    def added_up(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            with T.sblock("B"):
                v = T.axis.spatial(2, i)
                B[v] = Module.added(A[v], A[v])

    @T.prim_func(private=True, s_tir=True)
    def idle(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            with T.sblock("B"):
                v = T.axis.spatial(2, i)
                B[v] = A[v] * A[v]

    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        cls = Module
        return R.call_tir(cls.added_up, (x,), out_ty=R.Tensor((2,), dtype="float32"))
""")


ALL = (
    kernel_in_kernel,
    two_functions,
    typed_devices,
    private_symbolic,
    transposed_output,
    rank_only_weight,
    guarded_log,
    branches,
    kernels,
)
