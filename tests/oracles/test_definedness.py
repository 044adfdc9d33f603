from __future__ import annotations

from typing import Any

import numeric_samples as samples
import numpy as np
import pytest
import tvm
from tvm import relax, tirx, topi

from oracles.measure.definedness import alike, result_of
from oracles.measure.input_variations import Variation
from relaxkit.interpreter import Undefined

op = relax.op
EMPTY = Variation.NO_ELEMENTS


def said(module: Any, arguments: tuple[Any, ...], variation: Variation) -> Any:
    return result_of(module, str(tvm.ir.save_json(module)), "main", arguments, variation)


def test_a_sum_with_infinities_is_defined() -> None:
    x, y = samples.var("x"), samples.var("y")
    module = samples.function([x, y], lambda bb: bb.emit(op.add(x, y)))
    left, right = np.full((2, 3), np.inf, "float32"), np.full((2, 3), 1.0, "float32")
    assert np.isposinf(said(module, (left, right), Variation.INFINITIES)).all()


def test_nan_as_an_integer_is_not() -> None:
    x = samples.var("x")
    module = samples.function([x], lambda bb: bb.emit(op.astype(x, "int32")))
    with pytest.raises(Undefined):
        said(module, (np.full((2, 3), np.nan, "float32"),), Variation.NAN)


def casting_kernel() -> Any:
    bb, x = relax.BlockBuilder(), samples.var("x")
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit_te(lambda t: topi.cast(topi.cast(t, "int32"), "float32"), x))
    return bb.finalize()


def test_what_a_kernel_casts_is_out_of_sight() -> None:
    arguments = (np.ones((2, 3), "float32"),)
    with pytest.raises(Undefined, match="kernel casts"):
        said(casting_kernel(), arguments, Variation.NAN)
    assert np.array_equal(said(casting_kernel(), arguments, EMPTY), arguments[0])


def symbolic_module(body: Any, shape: Any = None) -> Any:
    n = tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n,) if shape is None else shape(n), "float32"))
    return samples.function([x], lambda bb: body(bb, x))


def test_empty_tensors_are_defined_where_nothing_is_read_or_divided() -> None:
    empty = (np.zeros((0,), "float32"),)
    longer = said(symbolic_module(lambda bb, x: bb.emit(op.concat([x, op.ones((1,), "float32")]))), empty, EMPTY)
    assert longer.tolist() == [1]
    for reduce in (op.sum, op.mean, op.std):  # TVM does not write them, in the heap or on the stack
        module = symbolic_module(lambda bb, x, reduce=reduce: bb.emit(reduce(x)))
        with pytest.raises(Undefined, match="reduction over nothing"):
            said(module, empty, EMPTY)
    with pytest.raises(Undefined):
        said(symbolic_module(lambda bb, x: bb.emit(op.max(x))), empty, EMPTY)
    halved = symbolic_module(lambda bb, x: bb.emit(op.add(x, x)), lambda n: (n // 2,))
    with pytest.raises(Undefined, match="division"):
        said(halved, empty, EMPTY)
    kernel = symbolic_module(lambda bb, x: bb.emit_te(topi.add, x, x))
    with pytest.raises(Undefined, match="symbolic"):
        said(kernel, empty, EMPTY)


def test_a_function_of_another_module_is_out_of_sight() -> None:
    module = symbolic_module(lambda bb, x: bb.emit(op.call_pure_packed("somewhere.else", x, ty_args=x.ty)))
    with pytest.raises(Undefined, match="out of sight"):
        said(module, (np.zeros((1,), "float32"),), Variation.NAN)


def test_results_are_alike_by_form_integers_and_special_values() -> None:
    one, nan, inf = (np.asarray([value], "float32") for value in (1.0, np.nan, np.inf))
    assert alike((one, 3), (2 * one, 3))
    assert alike(nan, -nan)
    assert not alike(nan, one)
    assert not alike(inf, -inf)
    assert not alike(one, one.astype("float64"))
    assert not alike((one,), (one, one))
    assert not alike(np.asarray([1]), np.asarray([2]))
