"""Activations, softmax and dropout."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from relaxkit.interpreter.operands import along_axis, erf, sigmoid
from relaxkit.interpreter.registry import Array, Request, meanings, semantics

SELU_SCALE = 1.0507009873554804934193349852946
SELU_ALPHA = 1.6732632423543772848170429916717


def normalized_exponentials(x: Array, axis: int) -> Array:
    """Exponentials that add up to one along an axis."""
    if not x.size:
        return x
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=axis, keepdims=True))


def _relu(request: Request, x: Array) -> Any:
    """``max(x, 0)``; of NaN no maximum is documented."""
    request.undefined(x != x, "maximum of NaN")
    return np.maximum(x, 0)


def _softplus(request: Request, x: Array) -> Any:
    """``log(1 + exp(beta * x)) / beta``, and ``x`` where ``beta * x`` is above the threshold (as PyTorch)."""
    beta, threshold = x.dtype.type(request.attr("beta")), x.dtype.type(request.attr("threshold"))
    scaled = x * beta
    return np.where(scaled > threshold, x, np.logaddexp(0, scaled) / beta)


def _log_softmax(request: Request, x: Array) -> Any:
    """``x - log(sum(exp(x)))`` along an axis, the maximum subtracted before."""
    if not x.size:
        return x
    axis = request.integer("axis")
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


_ACTIVATIONS: dict[str, Callable[[Request, Array], Any]] = {
    "relu": _relu,
    "leakyrelu": lambda call, x: np.where(x > 0, x, x * x.dtype.type(call.attr("alpha"))),
    "gelu": lambda _, x: x / 2 * (1 + erf(x * math.sqrt(0.5))),
    "gelu_tanh": lambda _, x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x)))),
    "silu": lambda _, x: x * sigmoid(x),
    "selu": lambda _, x: SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(x)),
    "softplus": _softplus,
    "softmax": lambda call, x: normalized_exponentials(x, call.integer("axis")),
    "log_softmax": _log_softmax,
}
"""Functions of one tensor, computed in float32 at least and rounded once."""
for _name, _function in _ACTIVATIONS.items():
    meanings({f"nn.{_name}": lambda call, _, compute=_function: call.cast(compute(call, call.wide(0)))})

# At inference the tensor itself, and a mask of ones.
meanings({"nn.dropout": lambda _, x: (x, np.ones_like(x))})


@semantics("nn.prelu", compared=False)
def prelu(request: Request) -> Any:
    """``x`` above zero, else ``alpha * x`` with a slope for each place on an axis."""
    x, slope = request.wide(0), request.wide(1)
    return request.cast(np.where(x > 0, x, x * along_axis(slope, request.integer("axis"), x.ndim)))
