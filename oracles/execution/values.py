"""Arguments and results: NumPy on our side, TVM objects on the virtual machine's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Union

import numpy as np
import tvm
import tvm_ffi


@dataclass(frozen=True, slots=True)
class ShapeValue:
    """A shape that a program returned."""

    dims: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """A result that cannot be compared by value, such as a closure.

    Attributes:
        kind: Name of its type.
    """

    kind: str


# A tree of results: arrays, shapes, numbers, and tuples of those; "|" takes no forward reference in Python 3.10.
Value = Union[np.ndarray[Any, Any], ShapeValue, Opaque, int, float, bool, str, None, tuple["Value", ...]]  # noqa: UP007


def to_tvm(argument: Any) -> Any:
    """Convert an argument (array, number, shape, callable, nested tuple or list, TVM object) for the machine."""
    if isinstance(argument, np.ndarray):
        return tvm.runtime.tensor(argument, device=tvm.cpu(0))
    if isinstance(argument, (tuple, list)) and not isinstance(argument, tvm.runtime.ShapeTuple):
        return tvm_ffi.convert([to_tvm(item) for item in argument])
    if callable(argument) and not isinstance(argument, tvm_ffi.Object):
        return tvm_ffi.convert(argument)
    return argument


def from_tvm(result: Any) -> Value:
    """Copy a result of the machine into plain values; later calls cannot change them."""
    if isinstance(result, tvm.runtime.Tensor):
        return np.array(result.numpy(), copy=True)
    if isinstance(result, tvm.runtime.ShapeTuple):
        return ShapeValue(tuple(int(dim) for dim in result))
    if isinstance(result, (tvm_ffi.Array, tuple, list)):
        return tuple(from_tvm(item) for item in result)
    if result is None or isinstance(result, (bool, int, float, str)):
        return result
    return Opaque(type(result).__name__)
