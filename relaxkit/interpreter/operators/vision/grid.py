"""Sampling of images at the positions of a grid, and grids of affine maps.

``tvm.relax.op.image.grid_sample`` and ``topi.image.grid_sample`` define positions and layouts; what happens beyond the
border, and between pixels, is that of ``torch.nn.functional.grid_sample``, whose names the attributes have.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from relaxkit.interpreter.operators.vision.image import cubic_weights
from relaxkit.interpreter.registry import Array, Request, Unsupported, semantics

CUBIC_ALPHA = -0.75
"""PyTorch's coefficient, which no attribute changes."""

FARTHEST = 1 << 30
"""Positions as far as this, in pixels, have no integer beside them."""


@semantics("image.grid_sample")
def grid_sample(request: Request) -> Any:
    """Pixels of ``data`` at positions in [-1, 1], x first; the grid's channels come second, as in the data."""
    data, grid = request.wide(0), request.wide(1)
    method, padding = str(request.attr("method")), str(request.attr("padding_mode"))
    aligned = bool(request.attr("align_corners"))
    extents = data.shape[2:]
    if str(request.attr("layout")) != ("NCHW", "NCDHW")[data.ndim - 4] or grid.shape[1] != len(extents):
        raise Unsupported("layout of a grid")
    request.undefined(0 in extents, "position in an empty image")
    request.undefined(~np.isfinite(grid), "position that is not a number")
    places = [_place(grid[:, -1 - axis], extent, aligned) for axis, extent in enumerate(extents)]
    request.undefined([np.any(np.abs(place) > FARTHEST) for place in places], "position too far away")
    if method != "nearest":
        request.undefined(~np.isfinite(data), "infinite pixel of any weight")
    if method == "bicubic":
        taps = [_cubic(place) for place in places]
        bounded: list[tuple[list[Array], list[Array] | None]] = [
            ([_beyond(each, extent, padding, aligned) for each in indices], weights)
            for (indices, weights), extent in zip(taps, extents, strict=True)
        ]
    else:
        moved = [_beyond(place, extent, padding, aligned) for place, extent in zip(places, extents, strict=True)]
        choose = {"bilinear": _linear, "nearest": _nearest}.get(method)
        if choose is None:
            raise Unsupported("interpolation of a grid")
        bounded = [choose(place) for place in moved]
    total: Any = None
    for corner in itertools.product(*[range(len(indices)) for indices, _ in bounded]):
        pixels = _pixels(data, [indices[tap] for (indices, _), tap in zip(bounded, corner, strict=True)])
        for (_, weights), tap in zip(bounded, corner, strict=True):
            if weights is not None:
                pixels = pixels * weights[tap][:, None].astype(data.dtype)
        total = pixels if total is None else total + pixels
    return request.cast(total)


def _place(positions: Array, extent: int, aligned: bool) -> Array:
    """Return the positions in [-1, 1] as pixel coordinates."""
    return (positions + 1) * (extent - 1) / 2 if aligned else ((positions + 1) * extent - 1) / 2


def _beyond(place: Array, extent: int, padding: str, aligned: bool) -> Array:
    """Return the coordinates with those beyond the border brought back; with zeros they stay where they are."""
    if padding == "zeros":
        return place
    if padding == "reflection":
        place = _reflected(place, 0.0, extent - 1) if aligned else _reflected(place, -0.5, extent)
    elif padding != "border":
        raise Unsupported("padding of a grid")
    return np.clip(place, 0, extent - 1)


def _reflected(place: Array, low: float, span: int) -> Array:
    """Return the coordinates reflected, as often as it takes, at ``low`` and at ``low + span``."""
    if span == 0:
        return np.zeros_like(place)
    distance = np.abs(place - low)
    folds = np.floor(distance / span)
    rest = distance - folds * span
    return np.asarray(np.where(folds % 2 == 0, rest + low, span - rest + low))


def _linear(place: Array) -> tuple[list[Array], list[Array] | None]:
    floor = np.floor(place)
    return [floor, floor + 1], [1 - (place - floor), place - floor]


def _nearest(place: Array) -> tuple[list[Array], list[Array] | None]:
    return [np.rint(place)], None


def _cubic(place: Array) -> tuple[list[Array], list[Array]]:
    floor = np.floor(place)
    weights = cubic_weights(place - floor, CUBIC_ALPHA)
    return [floor + tap for tap in range(-1, 3)], [weights[..., tap] for tap in range(4)]


def _pixels(data: Array, indices: list[Array]) -> Array:
    """Return the pixels of every channel at whole coordinates, zero where there is none."""
    inside = np.ones(indices[0].shape, bool)
    whole = []
    for index, extent in zip(indices, data.shape[2:], strict=True):
        inside &= (index >= 0) & (index < extent)
        whole.append(np.clip(index, 0, extent - 1).astype("int64"))
    batch = np.arange(data.shape[0]).reshape(-1, *[1] * (indices[0].ndim - 1))
    found = np.moveaxis(data, 1, -1)[(batch, *whole)]
    return np.asarray(np.where(inside[:, None], np.moveaxis(found, -1, 1), data.dtype.type(0)))


@semantics("image.affine_grid")
def affine_grid(request: Request) -> Any:
    """Return an affine map of every point of a uniform grid over [-1, 1]; coordinates come second, x first."""
    theta, size = request.wide(0), request.args[1].dims
    aligned = bool(request.attr("align_corners", True))
    if theta.shape[1:] != (len(size), len(size) + 1):
        raise Unsupported("matrices for a grid of a different rank")
    request.undefined(aligned and min(size) < 2, "corners of an extent of one")
    result = theta[:, :, -1].reshape(*theta.shape[:2], *[1] * len(size))
    for axis, extent in enumerate(size):
        number = np.arange(extent, dtype="float64")
        along = 2 * number / (extent - 1) - 1 if aligned else (2 * number + 1) / extent - 1
        column = theta[:, :, len(size) - 1 - axis].reshape(*theta.shape[:2], *[1] * len(size))
        shape = [-1 if at == axis else 1 for at in range(len(size))]
        # TVM leaves the term out where the extent is one, and IEEE 754 has NaN for it: no document says which.
        request.undefined((along == 0).any() and ~np.isfinite(column), "infinity at the coordinate zero")
        result = result + column * along.astype(theta.dtype).reshape(1, 1, *shape)
    return request.cast(result)
