"""Windows that slide over the spatial axes of a tensor ``(N, C, *spatial)``: how many there are, and what they meet."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from relaxkit.interpreter.registry import Request, Unsupported


@dataclass(frozen=True, slots=True)
class Sliding:
    """Where windows lie along one axis.

    Attributes:
        extent: Of the axis, without padding.
        size: Taps of a window.
        stride: From one window to the next.
        dilation: From one tap to the next.
        before: Padding on the near side.
        after: Padding on the far side.
        ceil: Whether a last window may reach over the far padding.
    """

    extent: int
    size: int
    stride: int
    dilation: int
    before: int
    after: int
    ceil: bool = False

    @property
    def count(self) -> int:
        """Count the windows; rounded up, none starts beyond the near padding and the axis (as PyTorch)."""
        return _count(self)

    @property
    def reach(self) -> int:
        """Return the padding on the far side that the last window needs."""
        last = (self.count - 1) * self.stride + self.dilation * (self.size - 1) + 1
        return max(self.after, last - self.extent - self.before)

    def met(self, padding: bool = False) -> np.ndarray[Any, Any]:
        """Count the elements that each window meets, with or without those of padding; never what ceil adds."""
        starts = np.arange(self.count)[:, None] * self.stride - self.before
        taps = starts + np.arange(self.size) * self.dilation
        first, end = (-self.before, self.extent + self.after) if padding else (0, self.extent)
        return np.asarray(((taps >= first) & (taps < end)).sum(axis=1))


@functools.lru_cache(maxsize=4096)
def _count(along: Sliding) -> int:
    room = along.extent + along.before + along.after - along.dilation * (along.size - 1) - 1
    count = (room + (along.stride - 1 if along.ceil else 0)) // along.stride + 1
    if along.ceil and (count - 1) * along.stride >= along.extent + along.before:
        count -= 1
    if count < 1:
        raise Unsupported("no window fits")
    return count


def sliding(request: Request, extents: Sequence[int], sizes: Sequence[int], ceil: bool = False) -> tuple[Sliding, ...]:
    """Return the windows of an operator with ``strides``, ``padding`` and ``dilation``, along each spatial axis."""
    dimensions = len(extents)
    strides = every(request, "strides", dimensions)
    dilation = every(request, "dilation", dimensions)
    before, after = sides(request, dimensions)
    parts = (extents, widened(sizes, dimensions), strides, dilation, before, after)
    return tuple(
        Sliding(extent, size, stride, step, near, far, ceil)
        for extent, size, stride, step, near, far in zip(*parts, strict=True)
    )


def every(request: Request, name: str, dimensions: int) -> tuple[int, ...]:
    """Return an attribute with a number for each spatial axis, or one for all."""
    return widened(request.integers(name) or (), dimensions)


def widened(numbers: Sequence[int], dimensions: int) -> tuple[int, ...]:
    """As many numbers as there are spatial axes."""
    given = tuple(numbers)
    if len(given) == 1:
        given *= dimensions
    if len(given) != dimensions:
        raise Unsupported("attribute of the wrong length")
    return given


def sides(request: Request, dimensions: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the padding on the near and on the far sides."""
    padding = request.integers("padding") or ()
    if len(padding) == 2 * dimensions:
        return padding[:dimensions], padding[dimensions:]
    both = widened(padding, dimensions)
    return both, both


def padded(array: np.ndarray[Any, Any], along: Sequence[Sliding], value: Any = 0) -> np.ndarray[Any, Any]:
    """Return the tensor with as much around it as the windows reach."""
    reaches = [each.reach for each in along]
    if not any(reaches) and not any(each.before for each in along):
        return array
    shape = [each.extent + each.before + reach for each, reach in zip(along, reaches, strict=True)]
    wide = np.full((*array.shape[:2], *shape), value, array.dtype)
    wide[trailing(*(slice(each.before, each.before + each.extent) for each in along))] = array
    return wide


def trailing(*indices: Any) -> Any:
    """Return an index of the last axes."""
    return (..., *indices)


def windows(array: np.ndarray[Any, Any], along: Sequence[Sliding]) -> np.ndarray[Any, Any]:
    """Return a view ``(N, C, *windows, *taps)`` of a padded tensor; read-only."""
    counts, taps = [each.count for each in along], [each.size for each in along]
    steps = array.strides[2:]
    apart = [step * each.stride for step, each in zip(steps, along, strict=True)]
    within = [step * each.dilation for step, each in zip(steps, along, strict=True)]
    shape, strides = (*array.shape[:2], *counts, *taps), (*array.strides[:2], *apart, *within)
    return np.asarray(as_strided(array, shape, strides, writeable=False))
