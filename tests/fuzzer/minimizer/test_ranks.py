"""Ranks, symbolic dims over calls, and attributes of operators."""

from __future__ import annotations

from typing import Any

import samples
import tvm
from reduced import candidates
from tvm import relax

from fuzzer.minimizer.reductions.attributes import op_attributes
from fuzzer.minimizer.reductions.dims import dims, ranks
from fuzzer.minimizer.reductions.values import dtypes
from relaxkit.ir.sketch.sketch import take
from relaxkit.ir.sketch.symbols import groups

op = relax.op


def shape(module: Any, name: str = "main") -> list[str]:
    return [str(dim).removeprefix("T.int64(").removesuffix(")") for dim in module[name].ret_ty.shape.values]


def test_ranks_are_lowered_from_both_ends() -> None:
    builder = relax.BlockBuilder()
    x = samples.var("x", 2, 3, 4)
    with builder.function("main", [x]):
        scaled = builder.emit(op.add(x, relax.const(tvm.runtime.tensor([[1.0] * 4] * 3).numpy(), "float32")))
        builder.emit_func_output(builder.emit(op.exp(scaled)))
    module = builder.finalize()
    assert [shape(item) for item in candidates(ranks, module)] == [["4"], ["3", "4"]]


def test_a_rank_that_an_operator_needs_stays() -> None:
    builder = relax.BlockBuilder()
    x = samples.var("x", 2, 3, 4)
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(op.permute_dims(x, [2, 0, 1])))
    assert list(candidates(ranks, builder.finalize())) == []


def test_a_computed_shape_keeps_its_rank_and_its_dtype() -> None:
    builder = relax.BlockBuilder()
    x, dims_of_it = samples.var("x", 2, 3), samples.var("s", 2, dtype="int64")
    with builder.function("main", [x, dims_of_it]):
        shape_of_it = builder.emit(op.tensor_to_shape(dims_of_it))
        builder.emit_func_output(builder.emit(op.reshape(x, shape_of_it)))
    module = builder.finalize()
    assert list(candidates(ranks, module)) == []
    assert list(candidates(dtypes, module)) == []


def test_symbols_that_a_call_makes_equal_become_static_together() -> None:
    module = samples.private_symbolic()
    found = {tuple(str(item.name) for item in group.symbols) for group in groups(take(module))}
    assert ("k", "n") in {tuple(sorted(names)) for names in found}
    assert any(shape(item, "helper") == ["2", "4"] for item in candidates(dims, module))


def test_a_symbol_takes_the_number_that_callers_give() -> None:
    builder = relax.BlockBuilder()
    k = tvm.tirx.Var("k", "int64")
    p = samples.var("p", k, 4)
    with builder.function("helper", [p], private=True):
        helper = builder.emit_func_output(builder.emit(op.exp(p)))
    x = samples.var("x", 7, 4)
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(tvm.ir.Call(helper, [x])))
    module = builder.finalize()
    assert [group.sizes for group in groups(take(module))] == [(7,)]
    assert shape(next(candidates(dims, module)), "helper") == ["7", "4"]


def test_attributes_become_plain() -> None:
    builder = relax.BlockBuilder()
    x, w = samples.var("x", 1, 3, 8, 8), samples.var("w", 4, 3, 3, 3)
    with builder.function("main", [x, w]):
        product = builder.emit(op.nn.conv2d(x, w, strides=2, padding=1, out_dtype="float32"))
        builder.emit_func_output(builder.emit(op.sum(product, axis=[1], keepdims=True)))
    found = list(candidates(op_attributes, builder.finalize()))
    calls = [item["main"].body.blocks[0].bindings[0].value.attrs for item in found]
    assert [int(each) for each in calls[0].strides] == [1, 1]
    assert [int(each) for each in calls[0].padding] == [0, 0, 0, 0]
    assert any([int(each) for each in call.strides] == [1, 1] and int(call.padding[0]) == 1 for call in calls)
    assert any(not item["main"].body.blocks[0].bindings[1].value.attrs.keepdims for item in found)
