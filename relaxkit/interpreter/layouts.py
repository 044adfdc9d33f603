"""Layouts of tensors: ``NCHW``, ``NHWC``, ``NCHW4c``; operators mean what they say in the canonical layout."""

from __future__ import annotations

import functools
import math
import re
from typing import Any

import numpy as np

from relaxkit.interpreter.registry import Unsupported

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
"""Letters of the spatial axes by their number."""

_AXIS = re.compile(r"([A-Z])|([1-9][0-9]*)([a-z])")


@functools.cache
def _axes(layout: str) -> tuple[tuple[str, int], ...]:
    """Return the letter of each axis in capitals, with the size of the block, 0 for an axis that is not one."""
    found = [(whole or letter.upper(), int(size or 0)) for whole, size, letter in _AXIS.findall(layout)]
    if "".join(f"{size}{letter.lower()}" if size else letter for letter, size in found) != layout:
        raise Unsupported("layout of an unknown form")
    return tuple(found)


@functools.cache
def _places(layout: str, order: str) -> tuple[tuple[int, ...], ...]:
    """Return the axes of ``layout`` that make up each letter of ``order``: the outer one, then its blocks."""
    axes = _axes(layout)
    groups = tuple(
        tuple(sorted((i for i, (name, _) in enumerate(axes) if name == letter), key=lambda i: axes[i][1] > 0))
        for letter in order
    )
    if any(not group for group in groups) or sum(map(len, groups)) != len(axes):
        raise Unsupported("layout of other axes")
    return groups


def canonical(array: np.ndarray[Any, Any], layout: str, order: str) -> np.ndarray[Any, Any]:
    """A tensor of ``layout`` in the order of plain letters ``order``; a block is merged with what it is a block of.

    Raises:
        Unsupported: The layout has other axes than ``order``.
    """
    if layout == order:
        return array
    groups = _places(layout, order)
    moved = array.transpose([place for group in groups for place in group])
    if len(groups) == array.ndim:
        return moved
    return moved.reshape([math.prod(array.shape[place] for place in group) for group in groups])


def arranged(array: np.ndarray[Any, Any], order: str, layout: str) -> np.ndarray[Any, Any]:
    """Return a tensor of plain letters ``order`` in another layout: the inverse of :func:`canonical`.

    Raises:
        Unsupported: The layout has other axes, or a block that does not divide its axis.
    """
    if layout == order:
        return array
    axes, groups = _axes(layout), _places(layout, order)
    split: list[int] = []
    for extent, group in zip(array.shape, groups, strict=True):
        blocks = [axes[place][1] for place in group[1:]]
        if extent % math.prod(blocks):
            raise Unsupported("block that does not divide its axis")
        split += [extent // math.prod(blocks), *blocks]
    where = [place for group in groups for place in group]
    return array.reshape(split).transpose([where.index(place) for place in range(len(axes))])
