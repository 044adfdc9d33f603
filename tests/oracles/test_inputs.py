from __future__ import annotations

from typing import Any

import numeric_samples as samples
import numpy as np
import pytest
import tvm
from tvm import relax, tirx

from oracles.measure.inputs import Unmaterializable, materialize
from oracles.measure.original import copied
from relaxkit.ir.domain import Given

DTYPES = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool")


def only(params: list[Any], attrs: dict[str, Any] | None = None) -> Any:
    return samples.function(params, lambda bb: params[0], attrs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_are_of_the_default_domain(dtype: str) -> None:
    (array,) = materialize(only([samples.var("x", (16, 16), dtype)]), "main", 3)
    assert array.dtype == dtype
    assert array.shape == (16, 16)
    low, high = {"f": (-2, 2), "i": (-3, 3), "u": (0, 3), "b": (0, 1)}[array.dtype.kind]
    assert array.min() >= low
    assert array.max() <= high
    assert len(np.unique(array)) > 1
    if array.dtype.kind == "f":
        assert np.array_equal(array * 64, np.round(array * 64))


def test_the_same_seed_gives_the_same_arguments_and_another_one_does_not() -> None:
    module = samples.symbolic()
    first, again, other = (copied(materialize(module, "main", seed)) for seed in (1, 1, 2))
    assert str(first) == str(again)
    assert str(first) != str(other)


@pytest.mark.parametrize("seed", range(8))
def test_symbolic_dims_are_shared_and_match_cast_gives_the_shape(seed: int) -> None:
    x, shape, z, prim = materialize(samples.symbolic(), "main", seed)
    assert z.shape[1] == x.shape[0]
    assert isinstance(shape, tvm.runtime.ShapeTuple)
    assert {1 <= dim <= 4 for dim in (*x.shape[:1], *shape, *z.shape, prim)} == {True}


@pytest.mark.parametrize("seed", range(8))
def test_shape_expressions_and_upper_bounds_hold(seed: int) -> None:
    n, m = tirx.Var("n", "int64"), tirx.Var("m", "int64")
    params = [
        relax.Var("a", relax.TensorType((n, m), "float32")),
        relax.Var("b", relax.TensorType((n * 2 + 1, m // 2), "int8")),
    ]
    a, b = materialize(only(params, {"tir_var_upper_bound": {"n": 2}}), "main", seed)
    assert a.shape[0] <= 2
    assert b.shape == (a.shape[0] * 2 + 1, a.shape[1] // 2)


def test_given_dims_are_taken() -> None:
    assert materialize(samples.symbolic(), "main", 0, Given({"n": 7}))[0].shape == (7, 3)


def test_tuples_nest() -> None:
    field = relax.TensorType((2,), "float32")
    nested = relax.TupleType([field, relax.TupleType([field, relax.ShapeType([3])])])
    ((first, (second, shape)),) = materialize(only([relax.Var("t", nested)]), "main", 0)
    assert first.shape == second.shape == (2,)
    assert tuple(shape) == (3,)


def test_closures_and_unknown_dtypes_are_refused_with_a_reason() -> None:
    callback = relax.Var("f", relax.FuncType([relax.TensorType((2,), "float32")], relax.TensorType((2,), "float32")))
    with pytest.raises(Unmaterializable) as refused:
        materialize(only([callback]), "main", 0)
    assert refused.value.reason == "parameter of type FuncType"
