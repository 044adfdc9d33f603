"""Calls in place are proved as what they compute elsewhere, unless they may read what they have overwritten."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxkit.ir.walk import nodes
from relaxkit.passes.contracts.laws import RANKED
from relaxkit.proof import Result, prove
from relaxkit.proof.in_place import out_of_place
from relaxkit.runtime.compile.lowering import target


@I.ir_module
class Chain:
    @R.function
    def main(x: R.Tensor((3, "n"), "float32"), y: R.Tensor(("n",), "float32")) -> R.Tensor((3, "n"), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.subtract(a, y)
            c = R.nn.relu(b)
            R.output(c)
        return c


def kernels(module: Any) -> dict[str, Any]:
    return {var.name_hint: each for var, each in module.functions_items() if isinstance(each, tirx.PrimFunc)}


def test_what_a_pass_computes_in_place_is_proved() -> None:
    after = relax.transform.DataflowUseInplaceCalls()(Chain)
    assert "call_tir_inplace" in after.script()
    proof = prove(Chain, after)
    assert proof.result is Result.PROVED
    assert proof.exact


@pytest.mark.parametrize("edit", ["operands", "constant", "index"])
def test_a_kernel_in_place_that_computes_otherwise_is_not_proved(edit: str) -> None:
    after = relax.transform.DataflowUseInplaceCalls()(Chain)
    name = next(name for name in kernels(after) if ("relu" if edit == "constant" else "subtract") in name)

    def store(node: Any) -> Any:
        value = node.value
        if edit == "operands":
            return tirx.BufferStore(node.buffer, type(value)(value.b, value.a), node.indices)
        if edit == "constant":
            return tirx.BufferStore(node.buffer, tirx.Max(value.a, tirx.FloatImm("float32", 1.0)), node.indices)
        return tirx.BufferStore(node.buffer, value, [tirx.IntImm("int64", 0), *node.indices[1:]])

    kernel = after[name]
    after[name] = kernel.with_body(tvm_ffi.structural_map(kernel.body, [(tirx.BufferStore, store)]))
    assert prove(Chain, after).result is Result.DIFFERENT


@T.prim_func(private=True, s_tir=True)
def shifted(a: T.Buffer((8,), "float32")) -> None:
    for i in range(7):
        with T.sblock("shifted"):
            v = T.axis.spatial(7, i)
            a[v] = a[v + 1]


@T.prim_func(private=True, s_tir=True)
def repeated(a: T.Buffer((8,), "float32")) -> None:
    for i, _j in T.grid(8, 2):
        with T.sblock("repeated"):
            v = T.axis.spatial(8, i)
            a[v] = a[v] * T.float32(2.0)


@T.prim_func(private=True, s_tir=True)
def halved(a: T.Buffer((8,), "float32")) -> None:
    for i in range(8):
        with T.sblock("halved"):
            v = T.axis.spatial(8, i // 2)
            a[v] = a[v] * T.float32(2.0)


@T.prim_func(private=True, s_tir=True)
def inside(a: T.Buffer((8,), "float32")) -> None:
    for i in range(8):
        with T.sblock("inside"):
            v = T.axis.spatial(8, i)
            for _j in range(2):
                a[v] = a[v] * T.float32(2.0)


@T.prim_func(private=True, s_tir=True)
def twice(a: T.Buffer((8,), "float32")) -> None:
    for i in range(8):
        with T.sblock("once"):
            v = T.axis.spatial(8, i)
            a[v] = a[v] * T.float32(2.0)
    for i in range(8):
        with T.sblock("twice"):
            v = T.axis.spatial(8, i)
            a[v] = a[v] * T.float32(2.0)


@T.prim_func(private=True, s_tir=True)
def summed(a: T.Buffer((8,), "float32")) -> None:
    for i, j in T.grid(8, 4):
        with T.sblock("summed"):
            v, _r = T.axis.remap("SR", [i, j])
            with T.init():
                a[v] = T.float32(0.0)
            a[v] = a[v] + T.float32(1.0)


@pytest.mark.parametrize("kernel", [shifted, repeated, halved, inside, twice, summed])
def test_a_kernel_that_may_read_what_it_has_overwritten_stays_in_place(kernel: Any) -> None:
    assert out_of_place(kernel, [0]) is None


@T.prim_func(private=True, s_tir=True)
def pointwise(a: T.Buffer((8, 4), "float32"), b: T.Buffer((4,), "float32")) -> None:
    for i, j in T.grid(8, 4):
        with T.sblock("pointwise"):
            v, w = T.axis.remap("SS", [i, j])
            a[v, w] = a[v, w] - b[w]


def test_a_pointwise_kernel_has_a_form_that_writes_elsewhere() -> None:
    made = out_of_place(pointwise, [0])
    assert made is not None
    assert len(made.params) == 3
    (stores,) = nodes(made.body, tirx.BufferStore)
    assert [each.buffer.same_as(made.params[2]) for each in stores] == [True]


def test_a_sort_is_what_its_operator_says_and_another_order_is_not() -> None:
    def module(descending: bool) -> Any:
        builder = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType((4, 3), "float32"))
        with builder.function("main", [x]):
            builder.emit_func_output(builder.emit(relax.op.sort(x, 0, descending)))
        return builder.get()

    with target():
        after = relax.backend.DispatchSortScan()(module(False))
    assert any("call_packed" in each.script() for each in kernels(after).values()), "it runs external code"
    assert prove(module(False), after, laws=(RANKED,)).result is Result.PROVED
    assert prove(module(True), after, laws=(RANKED,)).result is Result.DIFFERENT
    assert prove(after, tvm.IRModule(dict(after.functions_items()))).result is Result.PROVED
