"""Products of tensors, and sums that undo a broadcast."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from relaxkit.interpreter.accumulation import require_contraction, require_inner_products, require_sums
from relaxkit.interpreter.operands import finished, operand
from relaxkit.interpreter.registry import Array, Request, Undefined, semantics, undefined_on_mismatch


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


def _rounded(request: Request, value: Any) -> Any:
    return finished(request, request.cast(value))


@semantics("matmul")
@undefined_on_mismatch
def matmul(request: Request) -> Any:
    """Return the matrix product of the array API: vectors are rows and columns, batches broadcast."""
    left, right = _working(request, operand(request, 0), operand(request, 1))
    require_inner_products(left, right, request.declared())
    return _rounded(request, np.matmul(left, right))


@semantics("outer")
@undefined_on_mismatch
def outer(request: Request) -> Any:
    """Return all products of the elements of two vectors."""
    left, right = _working(request, operand(request, 0), operand(request, 1))
    return _rounded(request, np.multiply.outer(left, right))


@semantics("einsum")
@undefined_on_mismatch
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
    return _rounded(request, np.reshape(np.sum(data, axis=places, dtype=data.dtype), shape))


@semantics("collapse_sum_to")
def collapse_sum_to(request: Request) -> Any:
    """Return the sum over the dims that a broadcast from the shape added or stretched; 0 over no elements."""
    return _collapsed(request, request.args[1].dims)


@semantics("collapse_sum_like")
def collapse_sum_like(request: Request) -> Any:
    """``collapse_sum_to`` the shape of another tensor."""
    return _collapsed(request, request.args[1].shape)
