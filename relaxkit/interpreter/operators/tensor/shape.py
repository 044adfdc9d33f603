"""The same elements in another shape, and shapes as values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relaxkit.interpreter.registry import Request, Undefined, semantics, undefined_on_mismatch
from relaxkit.runtime.values import ShapeValue


@semantics("permute_dims")
def permute_dims(request: Request) -> Any:
    """Return the dims in the order of ``axes``, reversed without it."""
    return np.transpose(request.args[0], request.integers("axes"))


@semantics("reshape")
@undefined_on_mismatch
def reshape(request: Request) -> Any:
    """Return the elements in row-major order in another shape; -1 and 0 are resolved when the call is made."""
    data, shape = request.args
    if any(dim < 0 for dim in shape.dims):
        raise Undefined("reshape to a negative dim")
    return np.reshape(data, shape.dims)


@semantics("flatten")
def flatten(request: Request) -> Any:
    """Return one dim; a scalar has one element."""
    return np.reshape(request.args[0], (request.args[0].size,))


@semantics("nn.batch_flatten")
def batch_flatten(request: Request) -> Any:
    """Two dims: the first, and all others as one."""
    data = request.args[0]
    return np.reshape(data, (data.shape[0], math.prod(data.shape[1:])))


@semantics("expand_dims")
def expand_dims(request: Request) -> Any:
    """Dims of 1 at the places ``axis`` of the result."""
    return np.expand_dims(request.args[0], request.integers("axis") or ())


@semantics("squeeze")
@undefined_on_mismatch
def squeeze(request: Request) -> Any:
    """Without the dims ``axis``, which must be 1; without an axis, without any dim that is 1."""
    return np.squeeze(request.args[0], request.integers("axis"))


@semantics("broadcast_to")
@undefined_on_mismatch
def broadcast_to(request: Request) -> Any:
    """Dims of 1 stretched and dims put in front, to the shape."""
    data, shape = request.args
    return np.broadcast_to(data, shape.dims)


@semantics("shape_of")
def shape_of(request: Request) -> Any:
    """Return the shape of a tensor."""
    return ShapeValue(request.args[0].shape)


@semantics("tensor_to_shape")
def tensor_to_shape(request: Request) -> Any:
    """Return a vector of integers as a shape."""
    return ShapeValue(tuple(request.args[0].tolist()))


@semantics("shape_to_tensor")
def shape_to_tensor(request: Request) -> Any:
    """Return a shape as a vector of int64."""
    return np.array(request.args[0].dims, request.dtype)


@semantics("size")
def size(request: Request) -> Any:
    """Return the number of elements, an int64 scalar."""
    return np.array(request.args[0].size, request.dtype)
