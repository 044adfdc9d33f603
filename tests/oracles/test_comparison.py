from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracles.measure.comparison import compare, is_near
from relaxkit.runtime import Opaque, ShapeValue

A = np.array([1.0, np.nan, -0.0, np.inf], "float32")


def test_nan_equals_nan_and_minus_zero_equals_zero() -> None:
    assert compare(A, np.array([1.0, np.nan, 0.0, np.inf], "float32")) is None


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        (A, A.astype("float64"), "wrong-dtype"),
        (A, A.reshape(2, 2), "wrong-shape"),
        (A, (A,), "wrong-structure"),
        ((A, A), (A,), "wrong-structure"),
        (A, np.array([1.0, np.nan, 0.0, -np.inf], "float32"), "wrong-value"),
        (A, np.array([1.0, 0.0, 0.0, np.inf], "float32"), "wrong-value"),
        (A, np.nextafter(A, np.float32(2)), "wrong-value"),
        (ShapeValue((2, 3)), ShapeValue((3, 2)), "wrong-value"),
        (ShapeValue((2,)), 2, "wrong-structure"),
        (3, 4, "wrong-value"),
        (np.array([1, 2]), np.array([1, 3]), "wrong-value"),
    ],
)
def test_differences_are_named(left: Any, right: Any, kind: str) -> None:
    found = compare(left, right)
    assert found is not None
    assert found.kind == kind


def test_floats_are_told_with_their_own_digits() -> None:
    found = compare(np.array([-1e-45], "float32"), np.array([0.1], "float32"))
    assert found is not None
    assert (found.expected, found.observed) == ("-1e-45 at index [0]", "0.1; 1 of 1 elements differ")


def test_the_output_and_the_index_in_it_are_told_apart() -> None:
    found = compare((A, (A[:1],)), (A, (A[:1] + 1,)))
    assert found is not None
    assert found.due("main") == "output 1.0 of main is 1.0 at index [0]"


def test_the_path_leads_to_the_difference() -> None:
    found = compare((A, (A, np.zeros(2))), (A, (A, np.ones(2))))
    assert found is not None
    assert found.path == (1, 1)


def test_one_element_of_many_is_seen() -> None:
    observed = np.zeros((8, 8), "float32")
    observed[5, 6] = 1e-30
    found = compare(np.zeros((8, 8), "float32"), observed)
    assert found is not None
    assert found.expected == "0.0 at index [5, 6]"
    assert "1 of 64" in found.observed


def test_a_tolerance_never_excuses_integers_or_infinities() -> None:
    def generous(_path: Any, expected: Any, _observed: Any) -> Any:
        return np.full(expected.shape, 1e9)

    assert compare(np.array([1.0]), np.array([2.0]), generous) is None
    assert compare(np.array([1]), np.array([2]), generous) is not None
    assert compare(np.array([1.0]), np.array([np.inf]), generous) is not None
    assert compare(np.array([1.0]), np.array([np.nan]), generous) is not None


def test_closures_are_not_compared_by_value() -> None:
    assert compare(Opaque("Closure"), Opaque("Closure")) is None


@pytest.mark.parametrize(
    ("expected", "seen", "said"),
    [
        ("1.0 at index [0]", "1.04", True), ("1.0", "1.06", False), ("-2.0", "-2.01", True), ("20.0", "20", True),
        ("100", "101", False), ("0.0", "0.0001", False), ("1.0", "nan", False), ("1.0", "a tuple", False),
    ],
)  # fmt: skip
def test_floats_are_near_that_differ_by_less_than_a_twentieth(expected: str, seen: str, said: bool) -> None:
    assert is_near(expected, seen) is said
