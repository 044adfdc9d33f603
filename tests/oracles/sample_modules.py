"""Small modules, one construct each, on which the structural oracles and the contracts are tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import relax, te, tirx, topi
from tvm.relax.dpl import is_op, wildcard
from tvm.script import ir as I
from tvm.script import relax as R

op = relax.op
TT = relax.TensorType
F23 = ((2, 3), "float32")


def var(name: str, shape: Any = (2, 3), dtype: str = "float32") -> Any:
    return relax.Var(name, TT(shape, dtype))


def dataflow() -> Any:
    bb = relax.BlockBuilder()
    x, y = var("x"), var("y")
    with bb.function("main", [x, y]):
        with bb.dataflow():
            a = bb.emit(op.add(x, y))
            o = bb.emit_output(op.exp(a))
        b = bb.emit(op.tanh(o))
        with bb.dataflow():
            c = bb.emit_output(op.multiply(b, o))
        bb.emit_func_output(c)
    return bb.finalize()


def branches() -> Any:
    """``If`` with two kernels per branch, a nested ``If``, and nested tuples."""
    bb = relax.BlockBuilder()
    x, c = var("x"), var("c", (), "bool")

    def branch(function: Callable[[Any], Any]) -> Any:
        d, g = relax.DataflowVar("d", TT(*F23)), var("g")
        block = relax.DataflowBlock([relax.VarBinding(d, function(x)), relax.VarBinding(g, op.add(d, x))])
        return relax.SeqExpr([block], relax.Tuple([g, x]))

    def nested() -> Any:
        v = relax.Var("v", relax.TupleType([TT(*F23)] * 2))
        inner = relax.If(c, branch(op.sin), branch(op.cos))
        return relax.SeqExpr([relax.BindingBlock([relax.VarBinding(v, inner)])], v)

    with bb.function("main", [c, x]):
        r = bb.emit(relax.If(c, branch(op.exp), nested()))
        a = bb.emit(relax.TupleGetItem(r, 0))
        bb.emit_func_output(relax.Tuple([a, relax.Tuple([r])]))
    return bb.finalize()


def private_calls() -> Any:
    bb = relax.BlockBuilder()
    t, u = relax.Var("t", relax.TupleType([TT(*F23), TT(*F23)])), var("u")
    with bb.function("helper", [t, u], private=True):
        with bb.dataflow():
            s = bb.emit_output(op.add(t[0], t[1]))
            e = bb.emit_output(op.exp(s))
        helper = bb.emit_func_output(relax.Tuple([s, e]))
    x = var("x")
    with bb.function("main", [x]):
        p = bb.emit(relax.Tuple([x, x]))
        r = bb.emit(helper(p, x))
        bb.emit_func_output(bb.emit(relax.TupleGetItem(r, 1)))
    return bb.finalize()


def private_chain(depth: int = 3) -> Any:
    """``main`` calls ``f0`` calls ``f1`` ..., each with an unused parameter and an unused output."""
    bb = relax.BlockBuilder()
    callee = None
    for level in reversed(range(depth)):
        x, unused = var("x"), var("unused")
        with bb.function(f"f{level}", [x, unused], private=True):
            a = bb.emit(op.exp(x))
            if callee is not None:
                a = bb.emit(relax.TupleGetItem(bb.emit(callee(a, unused)), 0))
            callee = bb.emit_func_output(relax.Tuple([a, x]))
    x, y = var("x"), var("y")
    with bb.function("main", [x, y]):
        r = bb.emit(callee(x, y))
        bb.emit_func_output(bb.emit(relax.TupleGetItem(r, 0)))
    return bb.finalize()


def kernels() -> Any:
    extents = (tirx.IntImm("int64", 2), tirx.IntImm("int64", 3))
    placeholder = te.placeholder(extents, "float32", name="A")
    plus = te.compute(extents, lambda i, j: placeholder[i, j] + 1.0, name="B")
    twice = te.compute(extents, lambda i, j: placeholder[i, j] * 2.0, name="C")
    kernel = te.create_prim_func([placeholder, plus, twice])
    kernel = kernel.without_attr("global_symbol").with_attr("tirx.noalias", True)
    bb = relax.BlockBuilder()
    two = bb.add_func(kernel, "two")
    x = var("x")
    with bb.function("main", [x]):
        with bb.dataflow():
            a = bb.emit(bb.call_te(topi.add, x, x))
            t = bb.emit(relax.call_tir(two, [a], out_ty=[TT(*F23), TT(*F23)]))
            b = bb.emit(relax.TupleGetItem(t, 0))
            o = bb.emit_output(op.add(b, t[1]))
        bb.emit_func_output(o)
    return bb.finalize()


def symbolic() -> Any:
    n, m, k = (tirx.Var(name, "int64") for name in "nmk")
    bb = relax.BlockBuilder()
    x, s = var("x", (n, 3)), relax.Var("s", relax.ShapeType([m]))
    z, p = relax.Var("z", TT(ndim=2, dtype="float32")), relax.Var("p", tvm.ir.PrimType("int64"))
    with bb.function("main", [x, s, z, p]):
        zz = bb.match_cast(z, TT((k, n), "float32"))
        with bb.dataflow():
            a = bb.emit(op.matmul(zz, x))
            f = bb.emit(op.full((k, 3), relax.const(2.0, "float32")))
            o = bb.emit_output(op.add(a, f))
        g = bb.emit(op.reshape(x, (n * 3,)))
        sh = bb.emit(op.shape_of(o))
        bb.emit_func_output(relax.Tuple([o, g, sh, relax.ShapeExpr([m + n]), p + 1]))
    return bb.finalize()


def symbolic_callee() -> Any:
    """A private function whose body names its own symbolic dimension."""
    n, m = tirx.Var("n", "int64"), tirx.Var("m", "int64")
    bb = relax.BlockBuilder()
    a = var("a", (n, 3))
    with bb.function("helper", [a], private=True):
        filled = bb.emit(op.full((n, 3), relax.const(2.0, "float32")))
        helper = bb.emit_func_output(bb.emit(op.add(a, filled)))
    x = var("x", (m, 3))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(helper(x)))
    return bb.finalize()


def vdevices() -> Any:
    devices = [relax.VDevice("llvm", 0, "global"), relax.VDevice("llvm", 1, "global")]
    bb = relax.BlockBuilder()
    x = relax.Var("x", TT((2, 3), "float32", devices[0]))
    with bb.function("main", [x]):
        with bb.dataflow():
            a = bb.emit(op.add(x, x))
            h = bb.emit(op.hint_on_device(a, tvm.cpu(0)))
            o = bb.emit_output(op.exp(h))
        bb.emit_func_output(o)
    module = bb.finalize()
    module.update_global_info("vdevice", devices)
    return module


def closure() -> Any:
    bb = relax.BlockBuilder()
    x, y, a, b = (var(name) for name in "xyab")
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(b, op.add(a, y))])], b)
    inner = relax.Function([a], body, TT(*F23))
    with bb.function("main", [x, y]):
        f = bb.emit(inner, name_hint="inner")
        bb.emit_func_output(bb.emit(relax.Call(f, [x])))
    return bb.finalize()


def made_closure() -> Any:
    bb = relax.BlockBuilder()
    a, e = var("a"), var("e")
    with bb.function("lifted", [a, e], private=True):
        lifted = bb.emit_func_output(bb.emit(op.add(a, e)))
    x, y = var("x"), var("y")
    with bb.function("main", [x, y]):
        c = bb.emit(op.make_closure(lifted, relax.Tuple([y])))
        bb.emit_func_output(bb.emit(op.invoke_pure_closure(c, relax.Tuple([x]), TT(*F23))))
    return bb.finalize()


def impure() -> Any:
    bb = relax.BlockBuilder()
    x, c = var("x"), var("c", (), "bool")
    with bb.function("main", [x, c], pure=False):
        bb.emit(op.assert_op(c, [], format="must hold"))
        bb.emit_func_output(bb.emit(op.exp(x)))
    return bb.finalize()


def recursive() -> Any:
    @I.ir_module
    class Module:
        @R.function
        def main(n: R.Tensor((), "int32"), x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            cls = Module
            c = R.greater(n, R.const(0, "int32"))
            if c:
                n1 = R.subtract(n, R.const(1, "int32"))
                x1 = R.add(x, x)
                r = cls.main(n1, x1)
            else:
                r = R.exp(x)
            return r

    return Module


def weights() -> Any:
    bb = relax.BlockBuilder()
    x, w = var("x", (4, 8)), var("w", (8, 8))
    with bb.function("main", [x, w], attrs={"num_input": 1}):
        with bb.dataflow():
            a = bb.emit(op.permute_dims(w))
            c = bb.emit(op.exp(a))
            o = bb.emit_output(op.matmul(x, c))
        bb.emit_func_output(o)
    return bb.finalize()


def transposed_twice() -> Any:
    """A transposed weight that is multiplied and returned as well."""
    bb = relax.BlockBuilder()
    x, w = var("x", (4, 8)), var("w", (8, 8))
    with bb.function("main", [x, w]):
        with bb.dataflow():
            t = bb.emit_output(op.permute_dims(w))
            o = bb.emit_output(op.matmul(x, t))
        bb.emit_func_output(relax.Tuple([o, t]))
    return bb.finalize()


def matmuls() -> Any:
    bb = relax.BlockBuilder()
    x, a, b = var("x", (16, 8)), var("a", (8, 2)), var("b", (2, 8))
    with bb.function("main", [x, a, b]):
        with bb.dataflow():
            p = bb.emit(op.matmul(x, op.matmul(a, b)))
            q = bb.emit(op.matmul(x, op.add(op.matmul(a, b), op.matmul(a, b))))
            o = bb.emit_output(op.add(p, q))
        bb.emit_func_output(o)
    return bb.finalize()


def convolution() -> Any:
    bb = relax.BlockBuilder()
    x = var("x", (1, 4, 6, 6))
    weight = relax.const(np.ones((8, 4, 3, 3), "float32"), "float32")
    with bb.function("main", [x]):
        with bb.dataflow():
            c = bb.emit(op.nn.conv2d(x, weight))
            statistics = [relax.const(np.full((8,), 1.5, "float32"), "float32") for _ in range(4)]
            n = bb.emit(op.nn.batch_norm(c, *statistics, axis=1, training=False))
            o = bb.emit_output(op.nn.relu(bb.emit(relax.TupleGetItem(n, 0))))
        bb.emit_func_output(o)
    return bb.finalize()


def loss() -> Any:
    bb = relax.BlockBuilder()
    x, y = var("x"), var("y")
    with bb.function("main", [x, y]):
        with bb.dataflow():
            a = bb.emit(op.multiply(x, y))
            o = bb.emit_output(op.sum(a))
        bb.emit_func_output(o)
    return bb.finalize()


def duplicates() -> Any:
    """Equal calls, aliases, dead code, constants, redundant reshapes."""
    bb = relax.BlockBuilder()
    x = var("x")
    with bb.function("main", [x]):
        with bb.dataflow():
            one = bb.emit(relax.const(np.ones((2, 3), "float32"), "float32"))
            a = bb.emit(op.add(x, one))
            b = bb.emit(op.add(x, one))
            bb.emit(op.exp(a))
            c = bb.emit(b)
            d = bb.emit(op.reshape(op.reshape(c, (6,)), (2, 3)))
            e = bb.emit(op.add(one, one))
            o = bb.emit_output(op.multiply(op.add(a, d), e))
        bb.emit_func_output(o)
    return bb.finalize()


def sorted_values() -> Any:
    bb = relax.BlockBuilder()
    x = var("x")
    with bb.function("main", [x]):
        with bb.dataflow():
            a = bb.emit(op.sort(x, axis=1))
            o = bb.emit_output(op.cumsum(a, axis=0))
        bb.emit_func_output(o)
    return bb.finalize()


def two_functions() -> Any:
    bb = relax.BlockBuilder()
    for name in ("main", "other"):
        x = var("x")
        with bb.function(name, [x]):
            with bb.dataflow():
                o = bb.emit_output(op.exp(bb.emit(op.add(x, x))))
            bb.emit_func_output(o)
    return bb.finalize()


def composites(module: Any, codegen: bool = False) -> Any:
    """The module with ``exp`` and ``add`` calls wrapped into composite functions."""
    patterns = [
        ("pyext.exp", is_op("relax.exp")(wildcard())),
        ("pyext.add", is_op("relax.add")(wildcard(), wildcard())),
    ]
    return relax.transform.FuseOpsByPattern(patterns, bind_constants=True, annotate_codegen=codegen)(module)


def transform_params_of_nested_call() -> Any:
    """A transform function that returns the tuple that another function made (upstream issue 17269)."""
    bb = relax.BlockBuilder()
    p = relax.Var("p", relax.TupleType([TT(*F23)]))
    with bb.function("inner", [p]):
        a = bb.emit(relax.TupleGetItem(p, 0))
        made = bb.emit(relax.Tuple([bb.emit(op.exp(a))]))
        inner = bb.emit_func_output(made)
    params = relax.Var("params", relax.TupleType([TT(*F23)]))
    with bb.function("main_transform_params", [params]):
        r = bb.emit(inner(params))
        bb.emit_func_output(r)
    return bb.finalize()


def empty() -> Any:
    return tvm.IRModule({})


MODULES: dict[str, Callable[[], Any]] = {
    function.__name__: function
    for function in (
        dataflow, branches, private_calls, private_chain, kernels, symbolic, symbolic_callee, vdevices, closure,
        made_closure, impure, recursive, weights, transposed_twice, matmuls, convolution, loss, duplicates,
        sorted_values, two_functions, transform_params_of_nested_call, empty,
    )
}  # fmt: skip
MODULES["composite_main"] = lambda: composites(dataflow())
MODULES["composite_two"] = lambda: composites(two_functions())
MODULES["codegen"] = lambda: composites(dataflow(), codegen=True)
