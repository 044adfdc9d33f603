"""Activations, softmax, dropout, and multi-head attention of tensors ``(batch, length, heads, width)``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from relaxkit.interpreter.accumulation import require_inner_products
from relaxkit.interpreter.operands import along_axis, erf, sigmoid
from relaxkit.interpreter.registry import Array, Request, Unsupported, meanings, semantics

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


@semantics("nn.attention", "nn.attention_bias", compared=False)
def attention(request: Request) -> Any:
    """``softmax(query @ key.T * scale + bias) @ value`` for each head; a mask takes keys out before the softmax.

    Heads of keys and values, where fewer, serve as many heads of queries each, in order (as PyTorch's ``enable_gqa``).
    """
    if request.attr("window_size") is not None:
        raise Unsupported("attention with a sliding window")
    query, key, value = (request.wide(index).transpose(0, 2, 1, 3) for index in range(3))
    heads = query.shape[1]
    request.undefined(key.shape[1] == 0 or value.shape[1] == 0, "attention without heads")
    if heads % key.shape[1] or heads % value.shape[1]:
        raise Unsupported("heads that are not divided among those of the keys")
    key, value = (each.repeat(heads // each.shape[1], axis=1) for each in (key, value))
    length, keys = query.shape[2], key.shape[2]
    request.undefined(keys == 0, "attention to no keys")
    request.undefined(query.shape[3] == 0, "attention to keys of no width")
    scale = request.attr("scale")
    factor = query.dtype.type(1 / math.sqrt(query.shape[3]) if scale is None else float(getattr(scale, "value", scale)))
    columns = key.transpose(0, 1, 3, 2)
    require_inner_products(query, columns, request.declared(0))
    scores = query @ columns * factor
    if len(request.args) == 4:
        scores = scores + request.wide(3)
    mask = request.attr("causal_mask")
    if mask is not None:
        scores = np.where(_seen(str(mask), length, keys), scores, -np.inf)
    return request.cast((normalized_exponentials(scores, -1) @ value).transpose(0, 2, 1, 3))


def _seen(mask: str, length: int, keys: int) -> Array:
    """Which keys each place of the queries sees."""
    if mask not in ("TopLeft", "BottomRight"):
        raise Unsupported("causal mask of an unknown name")
    return np.tri(length, keys, 0 if mask == "TopLeft" else abs(length - keys), dtype=bool)
