"""Pooling: maximum and average windows, and adaptive averages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tvm import relax

from strategies.operators.drawing import FLOATS, NUMBERS, bounds_of, emit, flip, shape_of
from strategies.operators.nn_conv import SPATIAL, spatial_tensor
from strategies.operators.row import Family, OperatorRow

if TYPE_CHECKING:
    from strategies.scope import Scope, Value

nn = relax.op.nn


def pool_layout(scope: Scope, dimensions: int) -> str:
    """Channels first, or rarely last."""
    spatial = SPATIAL[dimensions]
    return f"N{spatial}C" if scope.index(4) == 3 else f"NC{spatial}"


def windows(scope: Scope, layout: str, data: Value, dilated: bool) -> tuple[list[int], list[int], list[int], list[int]]:
    """Draw pool sizes, strides, paddings and dilations.

    Padding stays below half a window, so that no window lies in padding alone: its maximum would be the least float
    and its average without padding a division by zero.
    """
    sizes = dict(zip(layout, shape_of(data), strict=True))
    spatial = [letter for letter in layout if letter not in "NC"]
    pool, strides, dilation = [], [], []
    padding = [0] * (2 * len(spatial))
    for place, letter in enumerate(spatial):
        extent = int(sizes[letter])
        window = scope.integer(1, min(3, extent))
        pool.append(window)
        strides.append(scope.pick((1, 2)))
        wide = dilated and (window - 1) * 2 + 1 <= extent
        dilation.append(scope.pick((1, 2)) if wide else 1)
        if window >= 2 and dilation[-1] == 1:
            padding[place], padding[place + len(spatial)] = scope.index(2), scope.index(2)
    return pool, strides, padding, dilation


def _draw_pool(dimensions: int, call: Callable[..., Any], average: bool) -> Callable[[Scope], Value | None]:
    def draw(scope: Scope) -> Value | None:
        layout = pool_layout(scope, dimensions)
        data = spatial_tensor(scope, layout, FLOATS if average else NUMBERS)
        pool, strides, padding, dilation = windows(scope, layout, data, dilated=True)
        # Rounding up may add a window that starts in the padding: only without padding, and only whole strides.
        ceil = not any(padding) and all(s <= p for s, p in zip(strides, pool, strict=True)) and flip(scope)
        include = average and flip(scope)
        built = call(data.expr, pool, strides, padding, dilation, ceil, include, layout)
        known = bounds_of(data)
        return emit(scope, built, known.including(0.0) if average else known, data.dtype)

    return draw


def _draw_adaptive(dimensions: int, call: Callable[..., Any]) -> Callable[[Scope], Value | None]:
    def draw(scope: Scope) -> Value | None:
        layout = pool_layout(scope, dimensions)
        data = spatial_tensor(scope, layout, FLOATS)
        sizes = dict(zip(layout, shape_of(data), strict=True))
        target: list[int] | None = [scope.integer(1, int(sizes[letter])) for letter in layout if letter not in "NC"]
        # None keeps the extent; the one-dimensional legalization then fails ("Cannot convert from type ir.IntImm").
        if scope.index(8) == 7 and (dimensions > 1 or not scope.executable):
            target = None
        return emit(scope, call(data.expr, target, layout), bounds_of(data), data.dtype)

    return draw


def _row(name: str, draw: Callable[[Scope], Value | None]) -> OperatorRow:
    return OperatorRow(f"relax.nn.{name}", Family.POOL, draw)


ROWS = (
    _row("max_pool1d", _draw_pool(1, nn.max_pool1d, average=False)),
    _row("max_pool2d", _draw_pool(2, nn.max_pool2d, average=False)),
    _row("max_pool3d", _draw_pool(3, nn.max_pool3d, average=False)),
    _row("avg_pool1d", _draw_pool(1, nn.avg_pool1d, average=True)),
    _row("avg_pool2d", _draw_pool(2, nn.avg_pool2d, average=True)),
    _row("avg_pool3d", _draw_pool(3, nn.avg_pool3d, average=True)),
    _row("adaptive_avg_pool1d", _draw_adaptive(1, nn.adaptive_avg_pool1d)),
    _row("adaptive_avg_pool2d", _draw_adaptive(2, nn.adaptive_avg_pool2d)),
    _row("adaptive_avg_pool3d", _draw_adaptive(3, nn.adaptive_avg_pool3d)),
)
