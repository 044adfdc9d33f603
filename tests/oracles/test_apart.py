"""Operators that cancel inside of one kernel: taken apart they mean the same, and show how they round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numeric_samples as samples
import numpy as np
import pytest
import tvm
from tvm import relax

from oracles.measure.original import Original
from oracles.measure.tolerance import EPSILON, Measured, unit_of
from relaxkit.ir.domain import Given
from relaxkit.ir.summary import summary_of
from relaxkit.passes.contract import NumericPromise
from relaxkit.runtime import session
from relaxkit.runtime.compile.split_operators import with_split_operators

nn = relax.op.nn
OPERATORS: dict[str, Callable[[Any], Any]] = {
    "nn.gelu": nn.gelu,
    "nn.gelu_tanh": nn.gelu_tanh,
    "nn.selu": nn.selu,
    "tanh": relax.op.tanh,
    "nn.softplus": lambda x: nn.softplus(x, beta=2.0, threshold=3.0),
}
VALUES = np.array([-4.15, -2.0, -0.0156, 0.0, 0.5, 1.4, 1.6, 4.5])


def program_of(name: str, dtype: str) -> Any:
    x = relax.Var("x", relax.TensorType((8,), dtype))
    return samples.function([x], lambda bb: bb.emit(OPERATORS[name](x)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OPERATORS)
def test_what_is_taken_apart_computes_the_same(name: str, dtype: str) -> None:
    module = program_of(name, dtype)
    apart = with_split_operators(module)
    assert summary_of(module).operators == {f"relax.{name}"} != summary_of(apart).operators
    whole, parts = (session().build(each).call("main", [VALUES.astype(dtype)]) for each in (module, apart))
    np.testing.assert_allclose(parts, whole, rtol=8 * EPSILON[dtype], atol=8 * EPSILON[dtype])


def test_what_does_not_cancel_stays() -> None:
    x = relax.Var("x", relax.TensorType((8,), "float32"))
    module = samples.function([x], lambda bb: bb.emit(nn.relu(x)))
    assert with_split_operators(module).same_as(module)


@pytest.mark.parametrize("name", OPERATORS)
def test_what_a_kernel_rounds_inside_in_float16_is_tolerated(name: str) -> None:
    """ce1694a768, once more: gelu(-4.15) of float16 is zero, and -0.00007 of float32."""
    module = of_a_constant(OPERATORS[name], VALUES)
    entry, found = measured_by(module, NumericPromise.LOSSY)
    lossy = session().build(relax.transform.ToMixedPrecision(out_dtype="float16")(module)).call("main", [])
    halved = _in_float16(name, VALUES.astype("float16"))
    for narrow in (lossy, halved):
        off = np.abs(narrow.astype("float64") - entry.output.astype("float64"))
        assert (off <= found.tolerance((), entry.output, entry.output)).all()


def test_tanh_of_little_is_a_rounding_of_1() -> None:
    """602bfff7cb: TVM gives 0 for tanh(1e-8), and FastMathTransform 1e-8."""
    module = of_a_constant(relax.op.tanh, np.array([1e-8, 1e-20, -1e-30, 2.0**-126]))
    entry, found = measured_by(module, NumericPromise.APPROXIMATE)
    fast = session().build(relax.transform.FastMathTransform()(module)).call("main", [])
    assert (fast != 0).all()
    assert (entry.output == 0).all()
    off = np.abs(fast.astype("float64") - entry.output)
    assert (off <= found.tolerance((), entry.output, entry.output)).all()


def of_a_constant(operator: Callable[[Any], Any], values: Any) -> Any:
    bb = relax.BlockBuilder()
    with bb.function("main", []):
        with bb.dataflow():
            out = bb.emit_output(operator(relax.const(values.astype("float32"))))
        bb.emit_func_output(out)
    return bb.finalize()


def measured_by(module: Any, promise: NumericPromise) -> tuple[Any, Measured]:
    """The only entry of a module, and what was measured on it."""
    original = Original(module, tvm.ir.save_json(module), 0, Given())
    (entry,) = original.entries
    found = original.measured(entry, unit_of(promise, original.float_dtypes))
    assert found is not None
    return entry, found


def _in_float16(name: str, x: Any) -> Any:
    """The formula, each operation rounded to float16."""
    one, half = np.float16(1), np.float16(0.5)
    if name == "nn.softplus":
        scaled = x * np.float16(2)
        return np.where(scaled > 3, x, np.log(one + np.exp(np.minimum(scaled, np.float16(3)))) / np.float16(2))
    if name == "nn.selu":
        negative = np.minimum((np.exp(x) - one) * np.float16(1.6732632), np.float16(0))
        return (np.maximum(x, np.float16(0)) + negative) * np.float16(1.0507)
    if name == "nn.gelu_tanh":
        inner = np.tanh(x * np.float16(0.7978846) * (one + np.float16(0.044715) * x * x))
        return half * x * (one + inner)
    if name == "tanh":
        return np.tanh(x)
    from math import erf

    return x * (half + half * np.array([erf(float(each)) for each in x * np.float16(0.5**0.5)], "float16"))
