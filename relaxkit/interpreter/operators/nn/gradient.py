"""Gradients of losses, pools and ``take``, and the marks of gradients, which change nothing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from relaxkit.interpreter.layouts import arranged, canonical
from relaxkit.interpreter.operators.nn.loss import pick
from relaxkit.interpreter.operators.nn.pooling import divisor, least, meets, sliding_over
from relaxkit.interpreter.registry import MISMATCH, Array, Request, meanings, semantics
from relaxkit.interpreter.windows import Sliding, padded, trailing, windows

meanings({"grad.no_grad grad.start_checkpoint grad.end_checkpoint": lambda _, data: data})


@semantics("grad.nll_loss_backward", compared=False)
def nll_loss_backward(request: Request) -> Any:
    """``-weight[target]`` times the gradient at the target of each prediction, nothing elsewhere."""
    grad, predictions = request.wide(0), request.wide(1)
    picked = pick(request, predictions, 2)
    reduction = str(request.attr("reduction"))
    if reduction == "mean":
        grad = grad / np.sum(picked.weight)
    each = np.where(picked.counts, -picked.weight * grad.reshape(() if reduction != "none" else picked.index.shape), 0)
    shape = predictions.shape if predictions.ndim > 1 else (1, *predictions.shape)
    made = np.zeros(shape, predictions.dtype)
    np.put_along_axis(made, picked.index[:, None], each[:, None].astype(made.dtype), axis=1)
    return request.cast(made.reshape(predictions.shape))


@semantics("grad.max_pool2d_backward", compared=False)
def max_pool2d_backward(request: Request) -> Any:
    """Each window gives its gradient to its greatest element; of several greatest ones no gradient is defined."""
    grad, data, along = _pooled(request)
    request.undefined(meets(along) == 0, "window of padding alone")
    inside = padded(data, along, least(data.dtype))
    view = windows(inside, along)
    best = view == view.max(axis=(-2, -1), keepdims=True)
    request.undefined((best.sum(axis=(-2, -1)) != 1) & (grad != 0), "gradient of a maximum that is not alone")
    return _given(request, inside.shape, along, np.where(best, grad[..., None, None], 0))


@semantics("grad.avg_pool2d_backward", compared=False)
def avg_pool2d_backward(request: Request) -> Any:
    """Return each window gives its gradient in equal shares to its elements."""
    grad, data, along = _pooled(request)
    count = divisor(request, along)
    request.undefined(count == 0, "window of padding alone")
    inside = (*data.shape[:2], *(each.extent + each.before + each.reach for each in along))
    shares = (grad / count.astype(grad.dtype))[..., None, None]
    return _given(request, inside, along, np.broadcast_to(shares, (*grad.shape, *(each.size for each in along))))


@semantics("grad.take_backward", compared=False)
def take_backward(request: Request) -> Any:
    """Return each gradient is added where ``take`` took its element from."""
    grad, x = request.wide(0), request.wide(1)
    indices = np.asarray(request.args[2]).astype("int64")
    axis, flat = (0, x.reshape(-1)) if request.axis is None else (request.axis % x.ndim, x)
    request.undefined((indices < 0) | (indices >= flat.shape[axis]), "index out of range")
    made = np.zeros(flat.shape, grad.dtype)
    taken: Any = (slice(None),) * axis + (indices,)
    np.add.at(made, taken, grad)
    return request.cast(made.reshape(x.shape))


def _pooled(request: Request) -> tuple[Array, Array, tuple[Sliding, ...]]:
    """The gradient and the data in canonical layout, and the windows; type inference does not ask whether they fit."""
    grad = canonical(request.wide(0), str(request.attr("out_layout")), "NCHW")
    data = canonical(request.wide(1), str(request.attr("layout")), "NCHW")
    along = sliding_over(request, data.shape[2:])
    request.undefined(grad.shape != (*data.shape[:2], *(each.count for each in along)), MISMATCH)
    return grad, data, along


def _given(request: Request, shape: Sequence[int], along: Sequence[Sliding], shares: Array) -> Array:
    """Return the sum of what each element gets from the windows; ``shares`` is ``(N, C, *windows, *taps)``."""
    made = np.zeros(shape, shares.dtype)
    for tap in itertools.product(*(range(each.size) for each in along)):
        met = tuple(
            slice(at * each.dilation, at * each.dilation + (each.count - 1) * each.stride + 1, each.stride)
            for at, each in zip(tap, along, strict=True)
        )
        made[trailing(*met)] += shares[trailing(*tap)]
    inside = made[trailing(*(slice(each.before, each.before + each.extent) for each in along))]
    return arranged(request.cast(inside), "NCHW", str(request.attr("layout")))
