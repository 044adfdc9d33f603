from __future__ import annotations

import numpy as np
import pytest
import tvm
from drawing import drawn
from hypothesis import strategies as st
from tvm import relax

from strategies.scope.bounds import Bounds, contents, default_bounds
from strategies.scope.features import Feature
from strategies.scope.frame import FunctionFrame, ModuleFrame
from strategies.scope.scope import Scope
from strategies.scope.values import Value


@st.composite
def scopes(draw):
    module = ModuleFrame(relax.BlockBuilder(), frozenset(Feature) - {Feature.VAGUE_OPERANDS}, True)
    scope = Scope(draw, module, FunctionFrame())
    scope.builder.begin_scope([])
    scope.builder._begin_binding_block()
    return scope


@st.composite
def guarded(draw, dtype, bounds):
    """The value and its guarded form, with what was bound to get there."""
    scope = draw(scopes())
    value = scope.parameter(relax.TensorType((4,), dtype), default_bounds(dtype))
    made = scope.guard(value, bounds)
    block = scope.builder._end_block()
    body = scope.builder.normalize(relax.SeqExpr([block], made.expr))
    scope.builder.end_scope()
    function = relax.Function([value.expr], body).with_attr("global_symbol", "main")
    return made, tvm.IRModule({"main": function})


@pytest.mark.parametrize(
    ("dtype", "bounds"),
    [
        ("float32", Bounds(0.5, 2.0)),
        ("float32", Bounds(-1.0, 0.25)),
        ("float16", Bounds(0.0625, 6.0)),
        ("float64", Bounds(0, 3, True)),
        ("int32", Bounds(0, 2, True)),
        ("int64", Bounds(1, 4, True)),
        ("int8", Bounds(-10_000.0, 2.0)),
        ("uint8", Bounds(1, 300, True)),
        ("bool", Bounds(1, 1, True)),
        ("bool", Bounds(0, 0, True)),
    ],
)
def test_guarded_values_lie_in_the_bounds(dtype, bounds):
    domain = default_bounds(dtype)
    inputs = np.linspace(domain.lo, domain.hi, 4).astype(dtype)
    seen = set()
    for made, module in drawn(guarded(dtype, bounds), 10):
        assert bounds.contains(Bounds(made.known.lo, made.known.hi, made.known.integral or not bounds.integral))
        text = module.script()
        if text not in seen:
            seen.add(text)
            result = run(module, inputs)
            assert ((result >= bounds.lo) & (result <= bounds.hi)).all(), text
            assert ((result >= made.known.lo) & (result <= made.known.hi)).all(), text


def run(module, array):
    executable = relax.build(module, "llvm")
    machine = relax.VirtualMachine(executable, tvm.cpu())
    return machine["main"](tvm.runtime.tensor(array)).numpy().astype("float64")


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint16", "bool", "int64"])
@pytest.mark.parametrize("seed", [0, 1, 7, 8, 200])
def test_constants_lie_in_their_bounds(dtype, seed):
    domain = default_bounds(dtype)
    array = contents((3, 5), dtype, domain, seed)
    assert array.dtype == dtype
    assert array.min() >= domain.lo
    assert array.max() <= domain.hi
    assert seed or (array == array.flat[0]).all()


def test_an_interval_narrower_than_the_grain_has_a_constant():
    assert contents((2,), "float32", Bounds(0.001, 0.002), 5) == pytest.approx(0.0015)


def test_every_tensor_has_bounds():
    assert Value(None, relax.TensorType((2,), "int8")).known.contains(Bounds(-127, 127, True))
    with pytest.raises(TypeError, match="no bounds"):
        _ = Value(None, relax.ShapeType([2])).known
