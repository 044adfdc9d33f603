"""Operators on empty operands that have no result are undefined, and no error of the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from one_operator import computed
from tvm import relax

from relaxkit.interpreter import Undefined

op = relax.op
CASES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "averages of an empty axis": (lambda x: op.nn.adaptive_avg_pool1d(x, 2), [(1, 1, 0)]),
    "attention to keys of no width": (op.nn.attention, [(1, 2, 2, 0), (1, 3, 2, 0), (1, 3, 2, 2)]),
    "regions of an empty image": (lambda x, r: op.vision.roi_align(x, r, (1, 1), 1.0, 1), [(1, 1, 2, 0), (1, 5)]),
    "maxima of an empty image": (lambda x, r: op.vision.roi_pool(x, r, (1, 1), 1.0), [(1, 1, 0, 2), (1, 5)]),
    "an empty image of another size": (lambda x: op.image.resize2d(x, (2, 2)), [(1, 1, 2, 0)]),
    "positions in an empty image": (op.image.grid_sample, [(1, 1, 2, 0), (1, 2, 2, 2)]),
}


@pytest.mark.parametrize("name", CASES)
def test_is_undefined(name: str) -> None:
    build, shapes = CASES[name]
    with pytest.raises(Undefined):
        computed(build, *[np.zeros(shape, "float32") for shape in shapes])


def test_regions_out_of_all_bounds_are_undefined() -> None:
    image, far = np.ones((1, 1, 2, 2), "float32"), np.array([[0, -3e38, -3e38, 3e38, 3e38]], "float32")
    with pytest.raises(Undefined):
        computed(lambda x, r: op.vision.roi_align(x, r, (1, 1), 1.0, -1), image, far)
    with pytest.raises(Undefined):
        computed(lambda x, r: op.vision.roi_pool(x, r, (1, 1), 1.0), image, far)
