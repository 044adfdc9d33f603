"""Order of values: what comparisons, sorts and searches look at."""

from __future__ import annotations

from typing import Any

import numpy as np

from oracles.interpreter.errors import Undefined
from oracles.interpreter.precision import is_float

Array = np.ndarray[Any, Any]


def comparable(array: Array) -> Array:
    """The same values, in a dtype that NumPy orders itself.

    Raises:
        Undefined: There is NaN among them: TVM documents no place for it in any order.
    """
    if not is_float(array.dtype.name):
        return array
    values = array.astype("float32") if array.dtype.itemsize < 4 else array
    if np.isnan(values).any():
        raise Undefined("order of NaN")
    return values


def stable_order(array: Array, axis: int, descending: bool) -> Array:
    """Indices along an axis that put it in order; equal elements keep theirs in both directions.

    Raises:
        Undefined: There is NaN among them.
    """
    values = comparable(array)
    if not descending:
        return np.argsort(values, axis=axis, kind="stable")
    # Sorted backwards from the back: negation would not do, for the least integer has no negative.
    order = np.argsort(np.flip(values, axis), axis=axis, kind="stable")
    return np.asarray(array.shape[axis] - 1 - np.flip(order, axis))
