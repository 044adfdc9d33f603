"""Losses, and what ``nll_loss`` has in common with its gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relaxkit.interpreter.accumulation import require_sums
from relaxkit.interpreter.registry import Array, Request, semantics


@semantics("nn.cross_entropy_with_logits", compared=False)
def cross_entropy_with_logits(request: Request) -> Any:
    """``-sum(predictions * labels)``, by the size of the batch where there is one."""
    predictions, labels = request.wide(0), request.wide(1)
    products = predictions * labels
    require_sums(request, products, tuple(range(products.ndim)))
    total = -np.sum(products)
    return request.cast(total / predictions.shape[0] if predictions.ndim > 1 else total)


@semantics("nn.nll_loss", compared=False)
def nll_loss(request: Request) -> Any:
    """``-weight[target] * predictions[target]``; its mean is by the sum of weights (as PyTorch and ONNX define it)."""
    predictions = request.wide(0)
    picked = pick(request, predictions, 1)
    scores = np.take_along_axis(np.atleast_2d(predictions), picked.index[:, None], axis=1)[:, 0]
    losses = np.where(picked.counts, -scores * picked.weight, 0)
    losses = losses.reshape(np.shape(request.args[1]))
    reduction = str(request.attr("reduction"))
    if reduction != "none":
        require_sums(request, losses, tuple(range(losses.ndim)))
    if reduction == "sum":
        losses = np.sum(losses)
    elif reduction == "mean":
        losses = np.sum(losses) / np.sum(picked.weight)
    return request.cast(losses)


@dataclass(frozen=True, slots=True)
class Picked:
    """The picks of targets, with an axis for the batch in front where there is none.

    Attributes:
        index: Their classes, 0 where ignored.
        counts: Which are not ignored.
        weight: Their weights, 0 where ignored.
    """

    index: Array
    counts: Array
    weight: Array


def pick(request: Request, predictions: Array, first: int) -> Picked:
    """Pick what the targets of a loss name; ``first`` is the place of the targets among the arguments, weights next."""
    targets = np.asarray(request.args[first]).astype("int64")
    if predictions.ndim == 1:
        targets = targets[None]
    classes = predictions.shape[predictions.ndim > 1]
    counts = targets != request.integer("ignore_index")
    request.undefined(classes == 0 and targets.size, "target among no classes")
    request.undefined(counts & ((targets < 0) | (targets >= classes)), "target out of range")
    index = np.where(counts, targets, 0)
    weighted = len(request.args) > first + 1
    weights = request.wide(first + 1) if weighted else np.ones(classes, predictions.dtype)
    return Picked(index, counts, np.where(counts, weights[index] if index.size else 0, 0).astype(weights.dtype))
