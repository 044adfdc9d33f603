"""Operations on bits: signs, widths, counts that are not defined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Undefined

op = relax.op


def of(values: Any, dtype: str) -> np.ndarray[Any, Any]:
    return np.asarray(values).astype(dtype)


def test_bits_of_integers() -> None:
    left, right = of([0b1100, -1], "int8"), of([0b1010, 0b0101], "int8")
    assert computed(op.bitwise_and, left, right).tolist() == [0b1000, 0b0101]
    assert computed(op.bitwise_or, left, right).tolist() == [0b1110, -1]
    assert computed(op.bitwise_xor, left, right).tolist() == [0b0110, -6]
    assert computed(op.bitwise_not, of([0, 5, -1], "int16")).tolist() == [-1, -6, 0]
    assert computed(op.bitwise_not, of([0, 5], "uint16")).tolist() == [65535, 65530]


def test_bits_of_booleans() -> None:
    left, right = of([0, 0, 1, 1], "bool"), of([0, 1, 0, 1], "bool")
    for name, wanted in (
        ("bitwise_and", [False, False, False, True]),
        ("bitwise_or", [False, True, True, True]),
        ("bitwise_xor", [False, True, True, False]),
    ):
        found = computed(getattr(op, name), left, right)
        assert found.dtype == "bool"
        assert found.tolist() == wanted
    assert computed(op.bitwise_not, left).tolist() == [True, True, False, False]


def test_shifts() -> None:
    assert computed(op.left_shift, of([1, 3, 65], "int8"), of([6, 1, 1], "int8")).tolist() == [64, 6, -126]
    assert computed(op.left_shift, of([255], "uint8"), of([4], "uint8")).tolist() == [240]
    # Signed numbers keep their sign, unsigned ones have none.
    assert computed(op.right_shift, of([-7, 7], "int32"), of([1, 1], "int32")).tolist() == [-4, 3]
    assert computed(op.right_shift, of([128], "uint8"), of([7], "uint8")).tolist() == [1]
    assert computed(op.right_shift, of([-1], "int64"), of([63], "int64")).tolist() == [-1]


@pytest.mark.parametrize("name", ["left_shift", "right_shift"])
@pytest.mark.parametrize("count", [8, -1])
def test_undefined_counts(name: str, count: int) -> None:
    with pytest.raises(Undefined, match="shift"):
        computed(getattr(op, name), of([1, 1], "int8"), of([0, count], "int8"))


def test_left_shift_of_a_negative_number() -> None:
    with pytest.raises(Undefined, match="negative"):
        computed(op.left_shift, of([-1], "int8"), of([1], "int8"))
