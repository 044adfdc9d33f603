"""Activations, softmax and dropout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relaxkit.interpreter.operands import along_axis, erf, sigmoid
from relaxkit.interpreter.registry import Request, semantics, undefined_on_mismatch

SELU_SCALE = 1.0507009873554804934193349852946
SELU_ALPHA = 1.6732632423543772848170429916717


@semantics("nn.relu")
def relu(request: Request) -> Any:
    """``max(x, 0)``; of NaN no maximum is documented."""
    x = request.wide(0)
    request.undefined(x != x, "maximum of NaN")
    return request.cast(np.maximum(x, 0))


@semantics("nn.leakyrelu")
def leakyrelu(request: Request) -> Any:
    """``x`` above zero, ``alpha * x`` below."""
    x = request.wide(0)
    return request.cast(np.where(x > 0, x, x * x.dtype.type(request.attr("alpha"))))


@semantics("nn.prelu")
@undefined_on_mismatch
def prelu(request: Request) -> Any:
    """``x`` above zero, else ``alpha * x`` with a slope for each place on an axis."""
    x, slope = request.wide(0), request.wide(1)
    return request.cast(np.where(x > 0, x, x * along_axis(slope, request.integer("axis"), x.ndim)))


@semantics("nn.gelu")
def gelu(request: Request) -> Any:
    """``x / 2 * (1 + erf(x / sqrt(2)))``."""
    x = request.wide(0)
    return request.cast(x / 2 * (1 + erf(x * math.sqrt(0.5))))


@semantics("nn.gelu_tanh")
def gelu_tanh(request: Request) -> Any:
    """``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))``."""
    x = request.wide(0)
    return request.cast(x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x)))))


@semantics("nn.silu")
def silu(request: Request) -> Any:
    """``x * sigmoid(x)``."""
    x = request.wide(0)
    return request.cast(x * sigmoid(x))


@semantics("nn.selu")
def selu(request: Request) -> Any:
    """``scale * x`` above zero, ``scale * alpha * (exp(x) - 1)`` below."""
    x = request.wide(0)
    return request.cast(SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(x)))


@semantics("nn.softplus")
def softplus(request: Request) -> Any:
    """``log(1 + exp(beta * x)) / beta``, and ``x`` where ``beta * x`` is above the threshold (as PyTorch)."""
    x = request.wide(0)
    beta, threshold = x.dtype.type(request.attr("beta")), x.dtype.type(request.attr("threshold"))
    scaled = x * beta
    return request.cast(np.where(scaled > threshold, x, np.logaddexp(0, scaled) / beta))


@semantics("nn.softmax")
def softmax(request: Request) -> Any:
    """``exp(x) / sum(exp(x))`` along an axis, the maximum subtracted before."""
    x, axis = request.wide(0), request.integer("axis")
    return request.cast(normalized_exponentials(x, axis))


@semantics("nn.log_softmax")
def log_softmax(request: Request) -> Any:
    """``x - log(sum(exp(x)))`` along an axis, the maximum subtracted before."""
    x, axis = request.wide(0), request.integer("axis")
    if not x.size:
        return request.cast(x)
    shifted = x - x.max(axis=axis, keepdims=True)
    return request.cast(shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True)))


@semantics("nn.dropout")
def dropout(request: Request) -> Any:
    """At inference the tensor itself, and a mask of ones."""
    x = np.asarray(request.args[0])
    return (x, np.ones_like(x))


def normalized_exponentials(x: np.ndarray[Any, Any], axis: int) -> np.ndarray[Any, Any]:
    """Exponentials that add up to one along an axis."""
    if not x.size:
        return x
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=axis, keepdims=True))
