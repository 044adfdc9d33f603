"""Operands, concrete values and plain constants in the place of bindings."""

from __future__ import annotations

import numpy as np
import samples
import tvm
from reduced import candidates, operators_of
from tvm import relax

from fuzzer.minimizer.reductions.bindings import operands
from fuzzer.minimizer.reductions.values import constants, constants_of, values
from relaxkit.ir.sketch.sketch import bindings_of, take

op = relax.op


def test_a_cast_goes_and_the_rest_takes_the_type_of_its_operand() -> None:
    builder = relax.BlockBuilder()
    x = samples.var("x", 3, dtype="float16")
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(op.exp(builder.emit(op.astype(x, "float32")))))
    first = next(candidates(operands, builder.finalize()))
    assert operators_of(first) == ["relax.exp"]
    assert str(first["main"].ret_ty.dtype) == "float16"


def test_a_match_cast_goes() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(dtype="float32", ndim=2))
    with builder.function("main", [x]):
        cast = builder.match_cast(x, relax.TensorType((tvm.tirx.Var("n", "int64"), 4), "float32"))
        builder.emit_func_output(builder.emit(op.exp(cast)))
    first = next(candidates(operands, builder.finalize()))
    assert bindings_of(first) == 1
    assert first["main"].ret_ty.shape is None


def test_integers_stay_where_they_are_needed() -> None:
    builder = relax.BlockBuilder()
    x, w = samples.var("x", 2), samples.var("w", 2, 3)
    with builder.function("main", [x, w]):
        dims = builder.emit(op.tensor_to_shape(builder.emit(op.astype(x, "int64"))))
        builder.emit_func_output(builder.emit(op.reshape(w, dims)))
    first = next(candidates(operands, builder.finalize()))
    assert operators_of(first) == ["relax.astype", "relax.tensor_to_shape"]  # the cast has stayed, the reshape has not


def test_any_operand_is_tried() -> None:
    builder = relax.BlockBuilder()
    x, w = samples.var("x", 2, 3), samples.var("w", 3, 5)
    with builder.function("main", [x, w]):
        builder.emit_func_output(builder.emit(op.matmul(x, w)))
    shapes = [[int(dim) for dim in item["main"].ret_ty.shape] for item in candidates(operands, builder.finalize())]
    assert shapes == [[2, 3], [3, 5]]


def test_values_are_those_that_the_program_computes() -> None:
    builder = relax.BlockBuilder()
    with builder.function("main", [samples.var("x", 2)]):
        one = relax.const(np.array([1.0, 2.0], "float32"))
        doubled = builder.emit(op.multiply(one, relax.const(2.0)))
        builder.emit_func_output(builder.emit(op.exp(doubled)))
    module = builder.finalize()
    found = [item.value.numpy() for item in constants_of(take(module)).values()]
    np.testing.assert_array_equal(found[0], [2.0, 4.0])
    sizes = [bindings_of(item) for item in candidates(values, module)]
    assert sizes == [0, 1, 1]


def test_a_prefix_is_known_where_the_whole_is_not() -> None:
    builder = relax.BlockBuilder()
    x = samples.var("x", 2)
    with builder.function("main", [x]):
        known = builder.emit(op.exp(builder.emit(op.abs(x))))
        unknown = builder.emit(relax.call_dps_packed("no.such.function", [known], out_ty=x.ty))
        builder.emit_func_output(builder.emit(op.exp(unknown)))
    assert len(constants_of(take(builder.finalize()))) == 2


def test_constants_are_found_wherever_they_stand() -> None:
    builder = relax.BlockBuilder()
    with builder.function("main", [samples.var("x", 2)]):
        two = relax.const(np.array([2.0, 2.0], "float32"))
        pair = builder.emit(relax.Tuple([two, relax.const(np.zeros(3, "float32"))]))
        builder.emit_func_output(relax.Tuple([pair, two]))
    found = list(candidates(constants, builder.finalize()))
    assert [len(item["main"].params) for item in found] == [
        3,
        2,
        1,
        1,
        2,
        1,
    ]  # the second one of each: ones, or x where that fits
