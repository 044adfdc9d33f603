"""Functions that NumPy does not have."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def erf(value: Array) -> Array:
    """The error function, as exact as the C library's, in the dtype of the argument (which is float32 or float64)."""
    flat = map(math.erf, value.ravel().tolist())
    return np.fromiter(flat, "float64", value.size).reshape(value.shape).astype(value.dtype, copy=False)


def sigmoid(value: Array) -> Array:
    """``1 / (1 + exp(-x))`` without overflow between, in the dtype of the argument."""
    small = np.exp(-np.abs(value))
    return np.asarray(np.where(value >= 0, 1, small) / (1 + small)).astype(value.dtype, copy=False)
