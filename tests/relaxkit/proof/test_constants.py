"""What operators compute of constants is proved where the interpreter says the same, and nothing else is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op

from relaxkit.proof import Result, prove
from relaxkit.proof.constants import FOLDED, computed, near

VALUES = np.array([[0.5, -1.25, 3.0], [7.0, 0.1, -2.5]])


def module(value: Any) -> Any:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(relax.Tuple([x, builder.emit(value)]))
    return builder.get()


CALLS = {
    "moved": (op.permute_dims(relax.const(VALUES, "float32"), [1, 0]), VALUES.T.astype("float32"), True),
    "64 bits": (op.permute_dims(relax.const(VALUES, "float64"), [1, 0]), VALUES.T, True),
    "64 bits that may be rounded": (op.negative(relax.const(VALUES, "float64")), -VALUES, False),
    "whole numbers": (op.add(relax.const([1, 2], "int64"), relax.const(3, "int64")), np.array([4, 5]), True),
    "a shape": (op.shape_to_tensor(relax.ShapeExpr([2, 3])), np.array([2, 3]), True),
    "filled": (op.full((2, 2), relax.const(1.5, "float32"), "float32"), np.full((2, 2), 1.5, "float32"), True),
    "added up": (  # exact, if no step of it is rounded: whole numbers up to 2048 are of float16
        op.sum(relax.const([2047.0, 2.0, 1.0, -2.0], "float32"), [0]),
        np.asarray(2048, "float32"),
        False,
    ),
    "rounded": (op.exp(relax.const(VALUES, "float32")), np.exp(VALUES.astype("float32")), False),
    "a chain": (
        op.sum(op.square(relax.const(VALUES, "float64")), [0, 1]),
        np.asarray(np.sum(VALUES * VALUES) * (1 + 2e-16)),
        False,
    ),
}


@pytest.mark.parametrize(("call", "value", "exact"), CALLS.values(), ids=CALLS)
def test_a_folded_constant_is_proved_and_another_one_is_not(call: Any, value: Any, exact: bool) -> None:
    before, dtype = module(call), str(value.dtype)
    proof = prove(before, module(relax.const(value, dtype)))
    assert proof.result is Result.PROVED, proof
    assert proof.laws == (FOLDED,)
    assert proof.exact is exact
    other = value.copy()
    other[(0,) * other.ndim] += 1 if other.dtype.kind == "i" else 1e-3 * max(1, abs(other[(0,) * other.ndim]))
    assert prove(before, module(relax.const(other, dtype))).result is Result.DIFFERENT
    narrow = {"float64": "float32", "int64": "int32"}.get(dtype, "float16")
    assert prove(before, module(relax.const(value, narrow))).result is not Result.PROVED


def test_a_kernel_that_refuses_a_dtype_is_not_what_another_one_computes() -> None:
    values = relax.const([[0.5, 2.0, 1.0]], "float32")
    wide, narrow = (
        op.astype(op.topk(values, 1, ret_type="indices", dtype=dtype), "float32") for dtype in ("int64", "int16")
    )
    assert prove(module(wide), module(narrow)).result is not Result.PROVED


def test_what_is_undefined_or_unknown_is_not_computed() -> None:
    zero = relax.const([0], "int32")
    assert computed(op.floor_divide(relax.const([1], "int32"), zero)) is None
    assert computed(op.astype(relax.const([np.nan], "float32"), "int32")) is None


def test_constants_are_near_only_by_a_few_roundings() -> None:
    one = np.array([1.0, 1000.0], "float32")
    assert near(one, np.nextafter(one, np.float32(0)))
    assert not near(one, one * np.float32(1 + 1e-5))
    assert not near(one.astype("float16"), np.nextafter(one.astype("float16"), np.float16(0)))
    assert not near(one, one.astype("float64"))
    assert near(np.array([np.nan], "float32"), np.array([np.nan], "float32"))


def test_the_dim_of_a_constant_is_a_number() -> None:
    builder = relax.BlockBuilder()
    found = relax.const(np.array([1, 0, 1]), "int64")
    with builder.function("main", []):
        places = builder.emit(op.nonzero(found))
        dim = tvm.tirx.Var("k", "int64")
        cast = builder.match_cast(places, relax.TensorType((1, dim), "int64"))
        builder.emit_func_output(builder.emit(op.shape_to_tensor(builder.emit(op.shape_of(cast)))))
    before = builder.get()
    for value, result in (([1, 2], Result.PROVED), ([1, 3], Result.DIFFERENT)):
        builder = relax.BlockBuilder()
        with builder.function("main", []):
            builder.emit_func_output(relax.const(value, "int64"))
        assert prove(before, builder.get()).result is result
