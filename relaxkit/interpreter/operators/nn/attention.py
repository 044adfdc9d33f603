"""Multi-head attention of tensors ``(batch, length, heads, width)``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relaxkit.interpreter.accumulation import require_inner_products
from relaxkit.interpreter.operators.nn.activation import normalized_exponentials
from relaxkit.interpreter.registry import Array, Request, Unsupported, semantics


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
        raise Unsupported("causal mask of another name")
    return np.tri(length, keys, 0 if mask == "TopLeft" else abs(length - keys), dtype=bool)
