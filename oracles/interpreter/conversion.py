"""Conversion of values from one dtype to another, where it is defined."""

from __future__ import annotations

from typing import Any

import numpy as np

from oracles.interpreter.errors import Undefined
from oracles.interpreter.precision import is_float

Array = np.ndarray[Any, Any]


def converted(value: Any, dtype: np.dtype[Any]) -> Array:
    """An array in another dtype, as C converts: floats lose their fraction, integers wrap around, bool is "not zero".

    Raises:
        Undefined: A float that an integer dtype does not hold (C leaves that undefined, and processors differ).
    """
    array = np.asarray(value)
    if dtype.kind in "iu" and is_float(array.dtype.name):
        whole, limits = np.trunc(array.astype("float64")), np.iinfo(dtype)
        # The greatest integers are no float64s, but the powers of two next to them are.
        if not np.all((whole >= float(limits.min)) & (whole < float(limits.max // 2 + 1) * 2)):
            raise Undefined("float that the integer dtype does not hold")
    return array.astype(dtype, copy=False)
