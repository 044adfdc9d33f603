"""Floats of low precision: bounds, constants, guards, and which rows draw them."""

import numpy as np
import pytest
from drawing import drawn, plain_modules

from strategies import Feature, features_of, ir_modules
from strategies.scope.bounds import LOW_PRECISION, Bounds, contents, default_bounds, dtype_bounds, representable
from strategies.scope.features import dtype_feature
from strategies.scope.values import dims_of


@pytest.mark.parametrize("dtype", LOW_PRECISION)
@pytest.mark.parametrize("ends", [(-0.875, 0.875), (2.0**-4, 1.0e4), (-3.3, 7.7), (0.0, 0.9375), (-2.0, 2.0)])
def test_representable_ends_are_numbers_of_the_dtype_inside_the_interval(dtype, ends):
    lo, hi = representable(*ends, dtype)
    assert ends[0] <= lo <= hi <= ends[1]
    assert hi <= dtype_bounds(dtype).hi
    assert all(float(np.asarray(end).astype(dtype)) == end for end in (lo, hi))


def test_an_interval_between_two_numbers_keeps_its_ends():
    assert representable(0.51, 0.52, "float8_e4m3fn") == (0.51, 0.52)


@pytest.mark.parametrize("dtype", LOW_PRECISION)
@pytest.mark.parametrize("seed", [0, 1, 3, 7, 12])
def test_contents_stay_in_bounds_although_they_are_rounded(dtype, seed):
    array = contents((5, 7), dtype, Bounds(-0.9375, 0.9375), seed).astype("float64")
    assert array.min() >= -0.9375
    assert array.max() <= 0.9375


@pytest.mark.parametrize("dtype", LOW_PRECISION)
def test_rounding_stays_inside_widened_bounds(dtype):
    exact = np.linspace(-2.0, 2.0, 401)
    wide = Bounds(-2.0, 2.0).rounded_as(dtype, 1)
    rounded = exact.astype(dtype).astype("float64")
    assert (np.abs(rounded) <= np.abs(exact) * (1 + (wide.hi / 2 - 1)) + 2.0**-16).all()
    assert wide.lo <= rounded.min()
    assert rounded.max() <= wide.hi


def test_a_small_result_may_become_zero():
    assert Bounds(2.0**-12, 1.0).rounded_as("float8_e4m3fn").lo == 0.0
    assert Bounds(2.0**-12, 1.0).rounded_as("float32").lo > 0.0


def test_wide_floats_keep_whole_numbers_and_low_precision_does_not():
    whole = Bounds(-3, 99, True)
    assert whole.rounded_as("float16") == whole
    assert whole.rounded_as("float8_e5m2").hi > 99


@pytest.mark.parametrize("dtype", LOW_PRECISION)
def test_their_feature_is_named_and_their_default_domain_is_that_of_floats(dtype):
    assert dtype_feature(dtype) is Feature.LOW_PRECISION
    assert default_bounds(dtype) == Bounds(-2.0, 2.0)


@pytest.mark.slow
def test_they_are_not_rare_without_being_asked_for():
    modules = plain_modules(150)
    assert sum(Feature.LOW_PRECISION in features_of(module) for module in modules) >= 0.03 * len(modules)
    assert sum(Feature.LARGE_TENSORS in features_of(module) for module in modules) >= 0.03 * len(modules)


def test_large_tensors_stay_affordable():
    for module in drawn(ir_modules(demand=[Feature.LARGE_TENSORS], max_bindings=6), 20):
        for var in module.get_global_vars():
            function = module[var]
            for parameter in getattr(function, "params", ()):
                shape = getattr(getattr(parameter, "ty", None), "shape", None)
                if shape is not None and hasattr(shape, "values"):
                    dims = dims_of(shape)
                    assert np.prod([dim if isinstance(dim, int) else 4 for dim in dims]) <= 16384, module.script()
