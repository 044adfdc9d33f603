"""Index maps: permutations, splits with and without a value to pad with, merges, gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Undefined

ROW = np.arange(1, 6, dtype="int32")


def transformed(data: np.ndarray[Any, Any], index_map: Any, padding: Any = None) -> Any:
    return computed(lambda x: relax.op.layout_transform(x, index_map, padding), data).tolist()


def test_permutation_and_merge() -> None:
    assert transformed(ROW[:4].reshape(2, 2), lambda i, j: [j, i]) == [[1, 3], [2, 4]]
    assert transformed(ROW[:4].reshape(2, 2), lambda i, j: [j * 2 + i]) == [1, 3, 2, 4]


def test_split_pads_what_is_left_over() -> None:
    assert transformed(ROW, lambda i: [i // 2, i % 2], 9) == [[1, 2], [3, 4], [5, 9]]
    assert transformed(ROW, lambda i: [i % 2, i // 2], 9) == [[1, 3, 5], [2, 4, 9]]
    assert transformed(ROW[:4], lambda i: [i // 2, i % 2]) == [[1, 2], [3, 4]]
    assert transformed(ROW[:2].astype("float16"), lambda i: [i // 4, i % 4], 0.5) == [[1, 2, 0.5, 0.5]]


def test_padding_of_no_value_is_any_value() -> None:
    with pytest.raises(Undefined):
        transformed(ROW, lambda i: [i // 2, i % 2])
