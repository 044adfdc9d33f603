"""In which dtype floats are computed."""

from __future__ import annotations

import enum
import functools
from typing import Any

import ml_dtypes  # noqa: F401  (gives NumPy the names bfloat16 and float8_*; a dependency of TVM itself)
import numpy as np

from oracles.interpreter.errors import Unsupported


class Precision(enum.Enum):
    """How floats are represented; integers and booleans always have their declared dtype."""

    DECLARED = "declared"  # as the module says
    FLOAT64 = "float64"  # every float as float64, whatever its declared dtype: nearly exact arithmetic


@functools.cache
def numpy_dtype(dtype: str, precision: Precision = Precision.DECLARED) -> np.dtype[Any]:
    """The NumPy dtype that values of a TVM dtype have; raises ``Unsupported`` when there is none."""
    if precision is Precision.FLOAT64 and is_float(dtype):
        return np.dtype("float64")
    try:
        return np.dtype(dtype)
    except TypeError as error:
        raise Unsupported("dtype that NumPy does not know") from error


def is_float(dtype: str) -> bool:
    """Whether a TVM dtype is a float, bfloat16 and float8 included."""
    return "float" in dtype
