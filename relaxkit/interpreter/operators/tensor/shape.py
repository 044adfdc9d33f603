"""The same elements in another shape, and shapes as values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relaxkit.interpreter.registry import Request, Undefined, meanings, semantics
from relaxkit.runtime.values import ShapeValue

meanings(
    {
        # In the order of ``axes``, reversed without it.
        "permute_dims": lambda call, data: np.transpose(data, call.integers("axes")),
        # A scalar has one element.
        "flatten": lambda _, data: np.reshape(data, (data.size,)),
        "nn.batch_flatten": lambda _, data: np.reshape(data, (data.shape[0], math.prod(data.shape[1:]))),
        # The places are those of the result.
        "expand_dims": lambda call, data: np.expand_dims(data, call.integers("axis") or ()),
        "shape_of": lambda _, data: ShapeValue(data.shape),
        "tensor_to_shape": lambda _, data: ShapeValue(tuple(data.tolist())),
        "shape_to_tensor": lambda call, shape: np.array(shape.dims, call.dtype),
        "size": lambda call, data: np.array(data.size, call.dtype),
    }
)
meanings(
    {
        # Without an axis, without any dim that is 1.
        "squeeze": lambda call, data: np.squeeze(data, call.integers("axis")),
        "broadcast_to": lambda _, data, shape: np.broadcast_to(data, shape.dims),
    },
    compared=False,
)


@semantics("reshape", compared=False)
def reshape(request: Request) -> Any:
    """Return the elements in row-major order in another shape; -1 and 0 are resolved when the call is made."""
    data, shape = request.args
    if any(dim < 0 for dim in shape.dims):
        raise Undefined("reshape to a negative dim")
    return np.reshape(data, shape.dims)
