"""Values as people write them in NumPy: ``np.ones``, ``np.arange``, else the numbers in their shortest form."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from typing import Any

import ml_dtypes  # noqa: F401  (gives NumPy the names bfloat16 and float8_*; a dependency of TVM itself)
import numpy as np
import tvm

from fuzzer.repro.module.builder import Unsayable
from oracles.measure.comparison import is_floating
from relaxkit.runtime.values import ShapeValue

_MOST_ELEMENTS = 256
"""More numbers than that fill a screen."""
_NESTED_ELEMENTS = 16
"""Of more, in many dims, the brackets would take most of the lines."""


def array_source(array: np.ndarray[Any, Any]) -> str:
    """Return the NumPy expression of an array; raises ``Unsayable`` where it is long and of many values."""
    dtype, shape = array.dtype.name, repr(tuple(map(int, array.shape)))
    flat, reshaped = array.ravel(), "" if array.ndim == 1 else f".reshape{shape}"
    if flat.size == 0:
        return f'np.zeros({shape}, "{dtype}")'
    wide = flat.astype("float64") if is_floating(array.dtype) else flat
    if flat.size > 1 and _alike(wide, np.full_like(wide, wide[0])):
        value = number(flat[0])
        if value in ("0", "0.0", "1", "1.0"):
            return f'np.{"ones" if value.startswith("1") else "zeros"}({shape}, "{dtype}")'
        return f'np.full({shape}, {value}, "{dtype}")'
    if flat.size > 2 and array.dtype.kind != "b" and _alike(wide, np.arange(flat.size).astype(wide.dtype)):
        return f'np.arange({flat.size}, dtype="{dtype}"){reshaped}'
    if flat.size > _MOST_ELEMENTS:
        raise Unsayable(f"an array of {flat.size} different values")
    if array.ndim > 2 and flat.size > _NESTED_ELEMENTS:
        return f'np.array({nested(flat)}, "{dtype}"){reshaped}'
    return f'np.array({nested(array)}, "{dtype}")'


def nested(array: np.ndarray[Any, Any]) -> str:
    """Write the elements of an array as nested lists, each number as short as it can be."""
    return number(array[()]) if array.ndim == 0 else f"[{', '.join(map(nested, array))}]"


def number(value: Any) -> str:
    """Write one element: the fewest digits that give it back."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if not is_floating(np.asarray(value).dtype):
        return str(int(value))
    if not np.isfinite(wide := float(value)):
        return "np.nan" if wide != wide else "np.inf" if wide > 0 else "-np.inf"
    short = str(value) if isinstance(value, np.float16 | np.float32) else repr(wide)
    return short.replace("e+0", "e").replace("e-0", "e-")


def argument_source(value: Any) -> str:
    """Return the expression of an argument of a program as TVM takes it."""
    return _expression(value, lambda array: f"tvm.runtime.tensor({array_source(array)})", _shape)


def literal(value: Any) -> str:
    """Return the expression of a plain value of a program; an array of many different numbers is packed."""
    return _expression(value, _packed, repr)


def _expression(value: Any, array: Callable[[Any], str], shape: Callable[[ShapeValue], str]) -> str:
    if isinstance(value, np.ndarray):
        return array(value)
    if isinstance(value, ShapeValue):
        return shape(value)
    if isinstance(value, tvm.runtime.ShapeTuple):
        return f"tvm.runtime.ShapeTuple({[int(item) for item in value]})"
    if isinstance(value, tuple | list):
        return f"({''.join(_expression(item, array, shape) + ', ' for item in value).rstrip()})"
    return number(value) if isinstance(value, int | float) else repr(value)


def _shape(value: ShapeValue) -> str:
    return f"tvm.runtime.ShapeTuple({list(value.dims)})"


def _packed(array: np.ndarray[Any, Any]) -> str:
    try:
        return array_source(array)
    except Unsayable:
        packed = base64.b85encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode()
        return f'unpacked({packed!r}, "{array.dtype.name}", {array.shape!r})'


def _alike(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    return left.tobytes() == right.tobytes()
