"""Resizing of images: where a pixel comes from, and how it is made of its neighbours.

Coordinates, rounding and cubic weights are those of ONNX's ``Resize``, which ``tvm.relax.op.image.resize2d`` and
``topi.image.resize2d`` refer to; the latter's documentation has the order of a region of interest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relaxkit.interpreter.operands import along_axis
from relaxkit.interpreter.registry import Request, Undefined, Unsupported, is_float, semantics

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]

DYADIC = 1 << 8
"""Weights that are multiples of its inverse give exact results, whatever float they are computed in."""

NEAR = 1e-5
"""How near to an integer, in parts of the greatest pixel, computing in float32 decides which side it is on."""


@semantics("image.resize2d", "image.resize3d")
def resize(request: Request) -> Any:
    """An image of another size, axis by axis: interpolation in several dimensions is the product of those in one."""
    data, size = request.args[0], request.args[1].dims
    method, mode = str(request.attr("method")).lower(), str(request.attr("coordinate_transformation_mode"))
    layout = [letter for letter in str(request.attr("layout")) if letter.isalpha()]
    axes = [axis for axis, letter in enumerate(layout) if letter in "DHW"]
    if len(axes) != len(size) or len(layout) != data.ndim or axes != list(range(axes[0], axes[0] + len(axes))):
        raise Unsupported("layout of an image")
    request.undefined(any(data.shape[axis] == 0 for axis in axes), "pixels of an empty image")
    roi = [float(each) for each in request.attr("roi")]
    result, outside = data if method == "nearest_neighbor" else _computed(request, data), []
    if method != "nearest_neighbor":
        request.undefined(~np.isfinite(result), "infinite pixel of any weight")
    exact = True
    for number in reversed(range(len(axes))):
        corners = (roi[number], roi[len(axes) + number]) if mode == "tf_crop_and_resize" else (0.0, 0.0)
        source = coordinates(mode, data.shape[axes[number]], size[number], corners)
        outside.append((axes[number], (source < 0) | (source > data.shape[axes[number]] - 1)))
        if method == "nearest_neighbor":
            nearest = _nearest(source, str(request.attr("rounding_method")), mode)
            result = result.take(nearest.clip(0, data.shape[axes[number]] - 1), axes[number])
        else:
            taps, weights = _weights(request, method, source, data.shape[axes[number]])
            result = _weighted(result, axes[number], taps, weights)
            exact = exact and not np.any(weights * DYADIC % 1)
    if mode == "tf_crop_and_resize":
        beyond = np.zeros((), bool)
        for axis, flags in outside:
            beyond = beyond | flags.reshape([-1 if at == axis else 1 for at in range(data.ndim)])
        result = np.where(beyond, result.dtype.type(request.attr("extrapolation_value", 0.0)), result)
    return _delivered(request, result, exact)


_COORDINATES: dict[str, Callable[[Floats, int, int], Floats]] = {
    "half_pixel": lambda number, old, new: ((2 * number + 1) * old - new) / (2 * new),
    "pytorch_half_pixel": lambda number, old, new: _COORDINATES["half_pixel"](number, old, new) * (new > 1),
    "asymmetric": lambda number, old, new: number * old / new,
    "tf_half_pixel_for_nn": lambda number, old, new: (2 * number + 1) * old / (2 * new),
    "align_corners": lambda number, old, new: number * (old - 1) / max(new - 1, 1),
}


def coordinates(mode: str, old: int, new: int, corners: tuple[float, float]) -> Floats:
    """Return where the pixels of the new extent lie in the old one; quotients of integers, rounded once."""
    number = np.arange(new, dtype="float64")
    if mode in _COORDINATES:
        return _COORDINATES[mode](number, old, new)
    if mode != "tf_crop_and_resize":
        raise Unsupported("coordinate transformation mode")
    start, end = corners
    if new > 1:
        return start * (old - 1) + number * (end - start) * (old - 1) / (new - 1)
    return np.full(new, 0.5 * (start + end) * (old - 1))


_ROUNDINGS: dict[str, Callable[[Floats], Floats]] = {
    "round": np.rint,
    "round_prefer_floor": lambda source: np.ceil(source - 0.5),
    "round_prefer_ceil": lambda source: np.floor(source + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _nearest(source: Floats, rounding: str, mode: str) -> Integers:
    """Indices of the nearest pixels; without a rounding method corners are rounded and all else is floored."""
    rounding = rounding or ("round" if mode == "align_corners" else "floor")
    if rounding not in _ROUNDINGS:
        raise Unsupported("rounding method")
    if rounding == "round" and np.any(source - np.floor(source) == 0.5):
        raise Undefined("halves by a rounding method that does not say where they go")
    return _ROUNDINGS[rounding](source).astype("int64")


def cubic_weights(fraction: Floats, alpha: float) -> Floats:
    """Keys' weights of the pixels -1, 0, 1 and 2 beside a coordinate."""
    distance = np.abs(fraction[..., None] - np.array([-1.0, 0.0, 1.0, 2.0]))
    near = ((alpha + 2) * distance - (alpha + 3)) * distance**2 + 1
    far = alpha * (((distance - 5) * distance + 8) * distance - 4)
    return np.asarray(np.where(distance <= 1, near, far))


def _weights(request: Request, method: str, source: Floats, old: int) -> tuple[Integers, Floats]:
    """The pixels that each new one is made of, and their weights; beyond the border is the pixel at the border."""
    floor = np.floor(source)
    fraction = source - floor
    if method == "linear":
        taps = floor[:, None] + np.arange(2)
        weights = np.stack([1 - fraction, fraction], axis=1)
    elif method == "cubic":
        taps = floor[:, None] + np.arange(-1, 3)
        weights = cubic_weights(fraction, float(request.attr("cubic_alpha")))
        if request.integer("cubic_exclude"):
            weights = np.where((taps < 0) | (taps >= old), 0.0, weights)
            weights = weights / weights.sum(axis=1, keepdims=True)
    else:
        raise Unsupported("resize method")
    return taps.clip(0, old - 1).astype("int64"), weights


def _weighted(data: Any, axis: int, taps: Integers, weights: Floats) -> Any:
    parts = [
        data.take(taps[:, tap], axis) * along_axis(weights[:, tap], axis, data.ndim).astype(data.dtype)
        for tap in range(taps.shape[1])
    ]
    return sum(parts[1:], parts[0])


def _computed(request: Request, data: Any) -> Any:
    """Return the pixels to compute with: integers and booleans as float64, which holds those of 32 bits."""
    return request.wide(0) if is_float(data.dtype.name) else data.astype("float64")


def _delivered(request: Request, result: Any, exact: bool) -> Any:
    """Return the image in the dtype of the result; integers lose their fraction."""
    if result.dtype != request.dtype and not is_float(request.dtype.name) and request.dtype != np.bool_:
        limits = np.iinfo(request.dtype)
        request.undefined(~np.isfinite(result), "float that is not an integer, cast to one")
        request.undefined((result <= limits.min - 1) | (result >= limits.max + 1), "float out of range for an integer")
        if not exact:
            room = NEAR * (1 + np.abs(result).max(initial=0))
            request.undefined(np.abs(result - np.rint(result)) < room, "rounding decides how an integer is truncated")
    return request.cast(result)


@semantics("nn.pixel_shuffle")
def pixel_shuffle(request: Request) -> Any:
    """Channels become places: ``(..., C * r * r, H, W)`` to ``(..., C, H * r, W * r)``."""
    data, factor = request.args[0], request.integer("upscale_factor")
    *lead, channels, height, width = data.shape
    if factor < 1 or channels % (factor * factor):
        raise Undefined("channels that are not a multiple of the square of the factor")
    rank = len(lead)
    split = data.reshape(*lead, channels // factor**2, factor, factor, height, width)
    order = [*range(rank), rank, rank + 3, rank + 1, rank + 4, rank + 2]
    return split.transpose(order).reshape(*lead, channels // factor**2, height * factor, width * factor)
