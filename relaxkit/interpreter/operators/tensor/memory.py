"""Views of memory, and memory that a lowered program allocates itself (docstrings of ``tvm.relax.op.memory``)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relaxkit.interpreter.kernels import declared
from relaxkit.interpreter.registry import Precision, Raised, Request, Unsupported, is_float, numpy_dtype, semantics
from relaxkit.runtime.values import ShapeValue

POISON = 0xA5
"""The byte that allocated memory is full of: who reads it before it is written gets numbers that show."""


@semantics("memory.view")
def view(request: Request) -> Any:
    """Return the bytes of a tensor under another shape and dtype, from an offset on; never beyond its end."""
    given, shape, dtype, offset = (request.args[at] if at < len(request.args) else None for at in range(4))
    data = np.ascontiguousarray(declared(request.machine, given, request.call.args[0].ty))
    target = np.dtype(data.dtype) if dtype in (None, ()) else numpy_dtype(str(dtype))
    if data.dtype == np.bool_ and target != data.dtype:
        raise Unsupported("booleans viewed as another dtype")
    dims = shape.dims if isinstance(shape, ShapeValue) else None
    start = int(offset) if isinstance(offset, (int, np.integer)) else 0
    content = data.reshape(-1).view(np.uint8)
    if dims is None:
        if target.itemsize != data.dtype.itemsize:
            raise Unsupported("view with a different element width and no shape")
        dims = data.shape
    size = math.prod(dims) * target.itemsize
    if start < 0 or start + size > content.size:
        raise Raised("view beyond the memory of its tensor")
    if target == np.bool_ and data.dtype != np.bool_:
        raise Unsupported("other dtypes viewed as booleans")
    seen = content[start : start + size].view(target).reshape(dims)
    return seen.astype("float64") if _widened(request, target) else seen


@semantics("builtin.alloc_tensor")
def alloc_tensor(request: Request) -> Any:
    """Return a tensor of its own, full of anything."""
    return _allocate(request, request.args[0], str(request.args[1]))


@semantics("memory.alloc_storage", "vm.alloc_storage")
def alloc_storage(request: Request) -> Any:
    """Bytes; with floats computed in another dtype, only their number counts."""
    (size,) = next(each.dims for each in request.args if isinstance(each, ShapeValue))
    return np.full(size, POISON, np.uint8)


@semantics("memory.alloc_tensor", "vm.alloc_tensor")
def alloc_in_storage(request: Request) -> Any:
    """Return a tensor in a storage, from an offset on."""
    storage, offset, shape, dtype = request.args[:4]
    target = numpy_dtype(str(dtype))
    size = math.prod(shape.dims) * target.itemsize
    if int(offset) + size > storage.size:
        raise Raised("tensor beyond its storage")
    if _widened(request, target):
        return _allocate(request, shape, str(dtype))
    return request.machine.allocate(storage[int(offset) : int(offset) + size].view(target).reshape(shape.dims))


def _widened(request: Request, dtype: np.dtype[Any]) -> bool:
    return request.precision is Precision.FLOAT64 and is_float(dtype.name)


def _allocate(request: Request, shape: ShapeValue, dtype: str) -> Any:
    target = numpy_dtype(dtype)
    content = np.full(math.prod(shape.dims) * target.itemsize, POISON, np.uint8).view(target).reshape(shape.dims)
    return request.machine.allocate(content.astype("float64") if _widened(request, target) else content)
