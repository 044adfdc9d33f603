"""Functions that have nothing to do with a module, to be put beside its own.

Each builder gives a small module of functions that only call each other, with constructs and operators that passes act
on.  A repro script contains the source of the builder that it needs: only TVM and NumPy are used here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tvm
from tvm import relax, tirx

from oracles.metamorphic.locality_compare import reached
from relaxkit.ir.edits import copy_of, functions_of, renamed, with_functions
from relaxkit.ir.functions import is_public

NAME = "unrelated"
"""How the names of all these functions begin."""


def unmistakable(module: tvm.IRModule) -> tvm.IRModule:
    """Return the module with the name of every function beginning by ``NAME``, so that none collides with another's."""
    others = (name for name in functions_of(module) if not name.startswith(NAME))
    return renamed(module, {name: f"{NAME}_{name}" for name in others})


def unrelated_twin(module: tvm.IRModule, root: str, legalize: bool) -> tvm.IRModule:
    """Copy a function, and all that it reaches, so that the copy has nothing to do with the original but its looks.

    Legalized, it calls kernels that look like those which a pass makes for the original.
    """
    functions = functions_of(module)
    names = [name for name in reached(functions, root) if name in functions]
    part = with_functions(module, [(module.get_global_var(name), functions[name]) for name in names])
    copy = unmistakable(copy_of(part))
    for var, function in list(copy.functions.items()):
        if is_public(function):
            copy.update_func(var, function.with_attr("global_symbol", var.name_hint))
    if legalize:
        with tvm.target.Target("llvm"):
            copy = unmistakable(relax.transform.LegalizeOps()(copy))
    return copy


def _tensor(name: str, *shape: int | tirx.Var) -> relax.Var:
    return relax.Var(name, relax.TensorType(shape, "float32"))


def _constant(*shape: int) -> tvm.ir.GenericConst:
    values = np.arange(1, 1 + int(np.prod(shape)), dtype="float32").reshape(shape)
    return relax.const(values / values.size, "float32")


def unrelated_algebra() -> tvm.IRModule:
    """Make one public function: products in an order that pays to change, transposes, equal and dead expressions."""
    op, bb = relax.op, relax.BlockBuilder()
    x, a, b = _tensor("x", 2, 16), _tensor("a", 16, 2), _tensor("b", 2, 16)
    with bb.function(NAME, [x, a, b]):
        with bb.dataflow():
            left = bb.emit(op.matmul(op.matmul(x, a), b))
            right = bb.emit(op.matmul(x, op.matmul(a, b)))
            turned = bb.emit(op.matmul(x, op.permute_dims(b)))
            both = bb.emit(op.concat([op.permute_dims(a), op.permute_dims(op.permute_dims(b))], axis=0))
            bb.emit(op.exp(both))
            total = bb.emit(op.add(op.exp(left), op.exp(right)))
            again = bb.emit(op.add(op.exp(left), op.exp(right)))
            flat = bb.emit(op.reshape(op.multiply(total, again), (2, 16)))
            out = bb.emit_output(relax.Tuple([flat, turned, op.sum(both, axis=[1])]))
        bb.emit_func_output(out)
    return bb.get()


def unrelated_branches() -> tvm.IRModule:
    """Make one public function: two kernels in each branch of an ``If``, more after it, ordinary blocks only."""
    op, bb = relax.op, relax.BlockBuilder()
    x, flag = _tensor("x", 2, 3), relax.Var("flag", relax.TensorType((), "bool"))

    def branch(first: Callable[..., relax.Expr], second: Callable[..., relax.Expr]) -> relax.SeqExpr:
        one, two = _tensor("one", 2, 3), _tensor("two", 2, 3)
        bindings = [relax.VarBinding(one, first(x)), relax.VarBinding(two, second(one, x))]
        return relax.SeqExpr([relax.BindingBlock(bindings)], two)

    with bb.function(NAME, [x, flag]):
        chosen = bb.emit(relax.If(flag, branch(op.exp, op.add), branch(op.tanh, op.multiply)))
        more = bb.emit(op.nn.relu(chosen))
        bb.emit_func_output(relax.Tuple([more, bb.emit(op.negative(more))]))
    return bb.get()


def unrelated_calls() -> tvm.IRModule:
    """Make a public function that calls a kernel and a private one, with an unused parameter and output."""
    op, bb = relax.op, relax.BlockBuilder()
    source = tvm.te.placeholder((2, 3), "float32", name="A")
    kernel = tvm.te.create_prim_func([source, tvm.te.compute((2, 3), lambda i, j: source[i, j] * 3.0, name="B")])
    triple = bb.add_func(kernel.without_attr("global_symbol").with_attr("tirx.noalias", True), f"{NAME}_triple")
    t, unused = relax.Var("t", relax.TupleType([relax.TensorType((2, 3), "float32")] * 2)), _tensor("unused", 2, 3)
    with bb.function(f"{NAME}_helper", [t, unused], private=True):
        with bb.dataflow():
            product = bb.emit(op.multiply(t[0], t[1]))
            tripled = bb.emit_output(relax.call_tir(triple, [product], relax.TensorType((2, 3), "float32")))
            spare = bb.emit_output(op.exp(product))
        helper = bb.emit_func_output(relax.Tuple([tripled, spare]))
    x = _tensor("x", 2, 3)
    with bb.function(NAME, [x]):
        with bb.dataflow():
            result = bb.emit(helper(relax.Tuple([x, op.sigmoid(x)]), x))
            out = bb.emit_output(op.subtract(relax.TupleGetItem(result, 0), x))
        bb.emit_func_output(out)
    return bb.get()


def unrelated_network() -> tvm.IRModule:
    """Make one public function: convolution, bias, normalisation, activation and pooling with constant weights."""
    op, bb = relax.op, relax.BlockBuilder()
    x = _tensor("x", 1, 2, 6, 6)
    with bb.function(NAME, [x]):
        with bb.dataflow():
            conv = bb.emit(op.nn.conv2d(x, _constant(4, 2, 3, 3), padding=1))
            norm = op.nn.batch_norm(
                conv, _constant(4), _constant(4), _constant(4), _constant(4), axis=1, training=False
            )
            bias = bb.emit(op.add(relax.TupleGetItem(bb.emit(norm), 0), _constant(1, 4, 1, 1)))
            pooled = bb.emit(op.nn.max_pool2d(op.nn.relu(bias), pool_size=(2, 2), strides=(2, 2)))
            folded = bb.emit(op.add(_constant(4, 1, 1), op.exp(_constant(4, 1, 1))))
            out = bb.emit_output(op.nn.softmax(op.add(pooled, folded), axis=-1))
        bb.emit_func_output(out)
    return bb.get()


def unrelated_shapes() -> tvm.IRModule:
    """Make one public function: symbolic dimensions, also in its body, and a cast that defines one."""
    op, bb = relax.op, relax.BlockBuilder()
    n, m = tirx.Var(f"{NAME}_n", "int64"), tirx.Var(f"{NAME}_m", "int64")
    x, y = _tensor("x", n, 4), relax.Var("y", relax.TensorType(dtype="float32", ndim=2))
    with bb.function(NAME, [x, y]):
        cast = bb.match_cast(y, relax.TensorType((4, m), "float32"))
        with bb.dataflow():
            product = bb.emit(op.matmul(x, cast))
            filled = bb.emit(op.full((n, m), relax.const(2.0, "float32")))
            total = bb.emit(op.add(product, filled))
            out = bb.emit_output(op.reshape(total, (n * m,)))
        bb.emit_func_output(out)
    return bb.get()


def unrelated_closure() -> tvm.IRModule:
    """Make one public function: a local function that captures a variable, called twice."""
    op, bb = relax.op, relax.BlockBuilder()
    x, y, z = _tensor("x", 2, 3), _tensor("y", 2, 3), _tensor("z", 2, 3)
    inner = _tensor("inner", 2, 3)
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(inner, op.add(z, y))])], inner)
    local = relax.Function([z], body, relax.TensorType((2, 3), "float32"))
    with bb.function(NAME, [x, y]):
        function = bb.emit(local)
        once = bb.emit(relax.Call(function, [x]))
        bb.emit_func_output(bb.emit(relax.Call(function, [once])))
    return bb.get()


def unrelated_weights() -> tvm.IRModule:
    """Make one public function with the attribute ``num_input``: its last two parameters are weights."""
    op, bb = relax.op, relax.BlockBuilder()
    x, w, bias = _tensor("x", 2, 4), _tensor("w", 3, 4), _tensor("bias", 3)
    with bb.function(NAME, [x, w, bias], attrs={"num_input": 1}):
        with bb.dataflow():
            turned = bb.emit(op.permute_dims(w))
            product = bb.emit(op.matmul(x, turned))
            out = bb.emit_output(op.add(product, op.exp(bias)))
        bb.emit_func_output(out)
    return bb.get()


def unrelated_composite() -> tvm.IRModule:
    """Make a public function that calls a private composite one."""
    op, bb = relax.op, relax.BlockBuilder()
    a, b = _tensor("a", 2, 3), _tensor("b", 2, 3)
    with bb.function(f"{NAME}_composite", [a, b], private=True, attrs={"Composite": "ext.add", "Primitive": True}):
        with bb.dataflow():
            out = bb.emit_output(op.add(a, b))
        composite = bb.emit_func_output(out)
    x = _tensor("x", 2, 3)
    with bb.function(NAME, [x]):
        with bb.dataflow():
            out = bb.emit_output(op.exp(composite(x, x)))
        bb.emit_func_output(out)
    return bb.get()


def unrelated_private() -> tvm.IRModule:
    """Make a private function that nothing calls."""
    op, bb = relax.op, relax.BlockBuilder()
    x, y = _tensor("x", 2, 4), _tensor("y", 3, 4)
    with bb.function(NAME, [x, y], private=True):
        with bb.dataflow():
            product = bb.emit(op.matmul(x, op.permute_dims(y)))
            out = bb.emit_output(op.nn.gelu(product))
        bb.emit_func_output(out)
    return bb.get()
