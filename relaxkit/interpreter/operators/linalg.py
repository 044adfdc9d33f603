"""Products of tensors, and sums that undo a broadcast."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from relaxkit.interpreter.accumulation import require_contraction, require_inner_products, require_sums
from relaxkit.interpreter.operands import finished, operand
from relaxkit.interpreter.registry import Array, Request, Undefined, meanings, semantics


def _working(request: Request, *arrays: Array) -> list[Array]:
    """Return the operands in the dtype in which products are summed.

    Floats are summed in the widest of the dtypes at hand, float32 at least, and rounded once to the result's dtype,
    which is that of the result alone ("out_dtype: The data type of the matmul result").  Integers are converted first:
    sums of a ring do not depend on when they wrap around.
    """
    dtype = request.dtype
    if dtype == np.bool_:
        raise Undefined("sum of booleans")
    if dtype.kind not in "iu":
        wide = [np.dtype("float32"), dtype, *(array.dtype for array in arrays if array.dtype.kind not in "iub")]
        dtype = max(wide, key=lambda each: each.itemsize)
    return [array.astype(dtype, copy=False) for array in arrays]


def _products(request: Request, multiply: Callable[[Array, Array], Any], summed: bool = False) -> Any:
    left, right = _working(request, operand(request, 0), operand(request, 1))
    if summed:
        require_inner_products(left, right, request.declared())
    return finished(request, request.cast(multiply(left, right)))


meanings(
    {
        # The matrix product of the array API: vectors are rows and columns, batches broadcast.
        "matmul": lambda call, *_: _products(call, np.matmul, summed=True),
        "outer": lambda call, *_: _products(call, np.multiply.outer),
    },
    compared=False,
)


@semantics("einsum", compared=False)
def einsum(request: Request) -> Any:
    """Einstein's summation convention, as ``numpy.einsum`` has it."""
    operands = _working(request, *request.args[0])
    contract = functools.partial(np.einsum, str(request.attr("subscripts")))
    require_contraction(contract, operands, request.declared())
    return request.cast(contract(*operands))


def _collapsed(request: Request, shape: tuple[int, ...]) -> Any:
    (data,) = _working(request, operand(request, 0))
    lead = data.ndim - len(shape)
    if lead < 0 or any(dim not in (1, have) for dim, have in zip(shape, data.shape[lead:], strict=True)):
        raise Undefined("collapse to a shape that does not broadcast")
    places = (*range(lead), *(lead + place for place, dim in enumerate(shape) if dim == 1))
    require_sums(request, data, places)
    return finished(request, request.cast(np.reshape(np.sum(data, axis=places, dtype=data.dtype), shape)))


# Over the dims that a broadcast from the shape added or stretched; 0 over no elements.
meanings(
    {
        "collapse_sum_to": lambda call, _, shape: _collapsed(call, shape.dims),
        "collapse_sum_like": lambda call, _, like: _collapsed(call, like.shape),
    }
)
