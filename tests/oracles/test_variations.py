from __future__ import annotations

from typing import Any

import numeric_samples as samples
import numpy as np
import pytest
from tvm import relax, tirx

from oracles.measure.input_variations import ASKED, SHARES, SPECIAL, Variation, drawn, hard_values
from oracles.measure.inputs import materialize
from relaxkit.ir.domain import Given

FLOATS = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")


def only(params: list[Any], attrs: dict[str, Any] | None = None) -> Any:
    return samples.function(params, lambda bb: params[0], attrs)


def arguments(module: Any, variation: Variation, seed: int = 0, given: Given | None = None) -> list[Any]:
    return materialize(module, "main", seed, given or Given(), variation)


@pytest.mark.parametrize("dtype", FLOATS)
def test_corners_are_of_the_default_domain_and_hold_denormals_and_both_zeros(dtype: str) -> None:
    (array,) = arguments(only([samples.var("x", (32, 32), dtype)]), Variation.CORNERS)
    wide = array.astype("float64")
    assert np.abs(wide).max() == 2
    assert {-2.0, -1.0, 0.0, 1.0, 2.0} <= set(wide.ravel().tolist())
    assert set(np.signbit(wide[wide == 0]).tolist()) == {False, True}
    smallest = float(np.abs(wide[wide != 0]).min())
    assert smallest == float(np.abs(hard_values(array.dtype, Variation.CORNERS).astype("float64"))[7])
    assert np.asarray(smallest / 2).astype(array.dtype) == 0


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "bool"])
@pytest.mark.parametrize("variation", Variation)
def test_integers_never_leave_the_default_domain(dtype: str, variation: Variation) -> None:
    (array,) = arguments(only([samples.var("x", (16, 16), dtype)]), variation)
    low, high = {"i": (-3, 3), "u": (0, 3), "b": (0, 1)}[array.dtype.kind]
    assert low <= array.min() < array.max() <= high


def test_special_values_come_kind_by_kind() -> None:
    module = only([samples.var("x", (16, 16), "float32")])
    extremes, infinities, nans = (
        arguments(module, each)[0] for each in (Variation.EXTREMES, Variation.INFINITIES, Variation.NAN)
    )
    assert np.isfinite(extremes).all()
    assert np.abs(extremes).max() == np.finfo("float32").max
    assert {-np.inf, np.inf} <= set(infinities.ravel().tolist())
    assert not np.isnan(infinities).any()
    assert np.isnan(nans).any()
    assert not np.isinf(nans).any()
    assert SPECIAL < ASKED < set(SHARES)


@pytest.mark.parametrize("seed", range(6))
def test_a_dim_depends_on_its_name_alone_and_has_one_value(seed: int) -> None:
    n, m = tirx.Var("n", "int64"), tirx.Var("m", "int64")
    x, y = relax.Var("x", relax.TensorType((n, m), "float32")), relax.Var("y", relax.TensorType((m,), "float32"))
    first = arguments(only([x, y]), Variation.OTHER_DIMS, seed)
    assert first[0].shape[1] == first[1].shape[0]
    alone = relax.Var("y", relax.TensorType((m,), "float32"))
    (second,) = arguments(only([alone]), Variation.OTHER_DIMS, seed)
    assert np.array_equal(first[1], second)


def test_dims_are_empty_or_one_about_half_of_the_time() -> None:
    dims = [tirx.Var(f"n{index}", "int64") for index in range(40)]
    module = only([relax.Var(str(dim.name), relax.TensorType((dim,), "int8")) for dim in dims])
    sizes = {each: [a.size for a in arguments(module, each)] for each in (Variation.OTHER_DIMS, Variation.NO_ELEMENTS)}
    assert 10 < sizes[Variation.NO_ELEMENTS].count(0) < 30
    assert 10 < sizes[Variation.OTHER_DIMS].count(1) < 35
    assert 0 not in sizes[Variation.OTHER_DIMS]
    assert max(sizes[Variation.OTHER_DIMS]) == 4


def test_bounds_givens_and_numbers_hold() -> None:
    x, _shape, z, prim = arguments(samples.symbolic(), Variation.NO_ELEMENTS, 3, Given({"n": 7}))
    assert x.shape == (7, 3)
    assert z.shape[1] == 7
    assert prim >= 1  # a number may be a divisor
    n = tirx.Var("n", "int64")
    bounded = only([relax.Var("x", relax.TensorType((n,), "int8"))], {"tir_var_upper_bound": {"n": 2}})
    assert {arguments(bounded, Variation.OTHER_DIMS, seed)[0].size for seed in range(40)} == {1, 2}


def test_the_seed_alone_draws_and_zero_draws_all() -> None:
    assert set(drawn(0)) == set(Variation) - {Variation.DEFAULT}
    counts = {each: sum(each in drawn(seed) for seed in range(1, 601)) for each in SHARES}
    for variation, share in SHARES.items():
        assert 0.7 * 600 / share < counts[variation] <= 1.3 * 600 / share
