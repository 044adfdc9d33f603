"""Stochastic arithmetic: what rounding may do is allowed, what it cannot do is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numeric_samples as samples
import numpy as np
import pytest
import tvm
from tvm import relax

from oracles.measure.comparison import compare
from oracles.measure.original import Original
from oracles.measure.tolerance import EPSILON, SMALLEST_NORMAL, unit_of
from relaxkit.ir.domain import Given
from relaxkit.passes.contract import (
    NumericPromise,
)
from relaxkit.runtime import movable_constants, session

op = relax.op
REASSOCIATION = NumericPromise.REASSOCIATION


def measured(module: Any, seed: int = 0, promise: NumericPromise = REASSOCIATION) -> tuple[Original, Any, Any]:
    original = Original(module, tvm.ir.save_json(module), seed, Given())
    (entry,) = original.entries
    found = original.measured(entry, unit_of(promise, original.float_dtypes))
    assert found is not None
    return original, entry, found


def cancelling(bb: Any, x: Any, w: Any) -> Any:
    product = bb.emit(op.matmul(x, w))
    return bb.emit(op.subtract(product, bb.emit(op.mean(product, axis=[1], keepdims=True))))


def reordered(bb: Any, x: Any, w: Any, length: int) -> Any:
    """The same formula with the sum of the matrix product cut in parts and the mean distributed."""
    parts = []
    for start in range(0, length, length // 4):
        left = bb.emit(op.strided_slice(x, [1], [start], [start + length // 4]))
        right = bb.emit(op.strided_slice(w, [0], [start], [start + length // 4]))
        parts.append(bb.emit(op.matmul(left, right)))
    total = parts[-1]
    for part in reversed(parts[:-1]):
        total = bb.emit(op.add(part, total))
    third = bb.emit(op.multiply(total, relax.const(np.float32(0.25), "float32")))
    return bb.emit(op.subtract(total, bb.emit(op.sum(third, axis=[1], keepdims=True))))


def pair(length: int, dtype: str = "float32") -> tuple[Any, Any]:
    def build(body: Callable[..., Any], *more: Any) -> Any:
        x, w = samples.var("x", (4, length), dtype), samples.var("w", (length, 4), dtype)
        return samples.function([x, w], lambda bb: body(bb, x, w, *more))

    return build(cancelling), build(reordered, length)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("length", [4, 64, 512])
def test_another_order_of_summation_is_within_the_tolerance(length: int, seed: int) -> None:
    _, entry, found = measured(pair(length)[0], seed)
    other = session().build(pair(length)[1]).call("main", entry.arguments)
    assert compare(entry.output, other, found.tolerance) is None


def inexact(output: Any, factor: float) -> Any:
    return (output * np.float32(factor)).astype(output.dtype)


@pytest.mark.parametrize("length", [4, 64, 512])
def test_one_percent_is_not(length: int) -> None:
    _, entry, found = measured(pair(length)[0])
    difference = compare(entry.output, inexact(entry.output, 1.01), found.tolerance)
    assert difference is not None
    assert difference.kind == "wrong-value"


@pytest.mark.parametrize("length", [4, 64])
def test_one_wrong_element_is_not(length: int) -> None:
    _, entry, found = measured(pair(length)[0])
    wrong = entry.output.copy()
    wrong[2, 1] += 1e-3
    difference = compare(entry.output, wrong, found.tolerance)
    assert difference is not None
    assert difference.expected.endswith("[2, 1]")


def test_a_hundred_roundings_where_nothing_amplifies_are_not() -> None:
    _, entry, found = measured(samples.elementwise())
    assert compare(entry.output, inexact(entry.output, 1 + 100 * EPSILON["float32"]), found.tolerance) is not None


def test_constants_that_cancel_are_measured_too() -> None:
    """No input reaches the difference of the two sums, so moving inputs alone would show no spread there."""
    values = np.linspace(0.1, 1.7, 64, dtype="float32")
    one, two = relax.const(values, "float32"), relax.const(values[::-1].copy(), "float32")
    x = samples.var("x", (1,))

    def body(bb: Any) -> Any:
        return bb.emit(op.multiply(x, bb.emit(op.subtract(bb.emit(op.sum(one)), bb.emit(op.sum(two))))))

    _, entry, found = measured(samples.function([x], body))
    assert float(found.tolerance((), entry.output, entry.output).max()) > 1e-6 * abs(float(entry.arguments[0][0]))


def test_the_unit_follows_promise_and_narrowest_dtype() -> None:
    assert unit_of(REASSOCIATION, ("float32", "float64")).relative == EPSILON["float32"]
    assert unit_of(REASSOCIATION, ("float64",)).relative == EPSILON["float64"]
    assert unit_of(REASSOCIATION, ("float16", "float32")).relative == EPSILON["float16"]
    assert unit_of(NumericPromise.LOSSY, ("float32",)).relative == EPSILON["float16"]
    assert unit_of(REASSOCIATION, ()).relative == EPSILON["float32"]
    assert EPSILON["float32"] < unit_of(NumericPromise.APPROXIMATE, ("float32",)).relative < 1e-4


@pytest.mark.parametrize("dtypes", [("float32",), ("bfloat16", "float32")])
def test_approximations_are_of_normal_numbers(dtypes: tuple[str, ...]) -> None:
    """602bfff7cb: a view as bfloat16 beside it, of which the smallest subnormal number was the floor."""
    assert unit_of(NumericPromise.APPROXIMATE, dtypes).floor == SMALLEST_NORMAL["float32"]


def test_the_range_of_float16_is_noticed() -> None:
    x = samples.var("x")
    scale = relax.const(np.float32(1e5), "float32")
    large = samples.function([x], lambda bb: bb.emit(op.multiply(x, scale)))
    assert measured(large, promise=NumericPromise.LOSSY)[2].may_leave_float16
    assert not measured(samples.function([x], lambda bb: bb.emit(op.add(x, x))))[2].may_leave_float16


def test_measuring_leaves_the_program_as_it_was() -> None:
    original, entry, _ = measured(samples.reduction())
    assert compare(entry.output, original.program.call("main", entry.arguments)) is None


def test_what_is_summed_may_be_constants() -> None:
    """ce1694a768: six products of constants summed to 0.014 in float16, of which four make 4.2: rounding of 0.0015."""
    left = np.array([[1.75, -1.625, 2.0, -1.875]], "float32")
    right = np.array([[1.5], [-1.25], [-1.25], [1.1484375]], "float32")
    bb = relax.BlockBuilder()
    with bb.function("main", []):
        with bb.dataflow():
            out = bb.emit_output(op.matmul(relax.const(left), relax.const(right)))
        bb.emit_func_output(out)
    module = bb.finalize()
    _, entry, found = measured(module, promise=NumericPromise.LOSSY)
    (value,), unit = entry.output.ravel(), EPSILON["float16"]
    terms = left.ravel() * right.ravel()
    (granted,) = found.tolerance((), entry.output, entry.output).ravel()
    assert abs(value) < 0.01 * np.abs(terms).max()
    assert granted > unit * np.abs(terms).max()
    constants = [c.value.numpy() for c in (module["main"].body.blocks[0].bindings[0].value.args)]
    assert np.array_equal(constants[0], left)
    assert np.array_equal(constants[1], right)


def test_constants_of_several_floats_are_moved_and_are_the_programs_own() -> None:
    bb = relax.BlockBuilder()
    several, one, whole = np.ones((2, 3), "float32"), np.array(1.0, "float32"), np.array([0, 1], "int64")
    with bb.function("main", []):
        with bb.dataflow():
            taken = bb.emit(op.take(relax.const(several), relax.const(whole), axis=0))
            out = bb.emit_output(op.add(taken, relax.const(one)))
        bb.emit_func_output(out)
    module = bb.finalize()
    owned, tensors = movable_constants(module)
    assert [tuple(map(int, each.shape)) for each in tensors] == [(2, 3)]
    program = session().build(owned)
    tensors[0].copyfrom(several * 2)
    assert np.array_equal(program.call("main", []), several * 2 + 1)
    assert np.array_equal(session().build(module).call("main", []), several + 1)


def test_constants_are_found_beside_kernels() -> None:
    """331169b280: functions change places when constants are copied, and a kernel was searched in one's place."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((3,), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            value = bb.emit(op.add(x, relax.const(np.ones(3, "float32"))))
            for each in (op.abs, op.negative, op.exp, op.tanh):
                value = bb.emit(each(value))
            out = bb.emit_output(value)
        bb.emit_func_output(out)
    legal = relax.transform.LegalizeOps()(bb.finalize())
    functions = sorted(legal.functions.items(), key=lambda item: not isinstance(item[1], relax.Function))
    assert len(movable_constants(tvm.IRModule(dict(functions)))[1]) == 1


def test_an_approximation_is_one_of_normal_numbers():
    assert unit_of(NumericPromise.APPROXIMATE, ("float32",)).floor == 2.0**-126
    assert unit_of(NumericPromise.REASSOCIATION, ("float32",)).floor == 2.0**-149
