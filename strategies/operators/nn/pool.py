"""Pooling: maximum and average windows, and adaptive averages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tvm import relax

from strategies.operators import intervals
from strategies.operators.drawing import FLOATS, NUMBERS
from strategies.operators.row import OperatorFamily, Rows
from strategies.operators.vision.spatial import SPATIAL, covered, letters, pads, sizes_of, spatial_tensor
from strategies.scope.scope import Scope
from strategies.scope.values import Dim, Value

ROWS = Rows(OperatorFamily.POOL)

nn = relax.op.nn

AVERAGED = (*FLOATS, "int64")
"""TVM defect: the average of other integers is legalized to int64 where inference says their own dtype."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Attributes of a pool; ``padding`` has all near sides first."""

    size: list[int]
    strides: list[int]
    padding: list[int]
    dilation: list[int]
    ceil: bool


def pool_layout(scope: Scope, dimensions: int) -> str:
    """Return channels first mostly; else last, in another order, or in blocks of two or four."""
    spatial = SPATIAL[dimensions]
    usual = f"NC{spatial}"
    if scope.index(4) < 2:
        return usual
    return scope.pick((f"N{spatial}C", f"N{spatial}C", f"C{spatial}N", f"{spatial}NC", f"{usual}4c", f"{usual}2c"))


def windows(scope: Scope, sizes: dict[str, Dim], dilated: bool = True, ceil: bool = True) -> Windows:
    """Draw windows over the spatial axes of a tensor.

    No window lies in padding alone: its maximum would be the least number, its average a division by zero.
    """
    spatial = [letter for letter in sizes if letter in "DHW"]
    count = len(spatial)
    padding = pads(scope, count, most=1 if scope.index(3) < 2 else 2)
    # Rounding up makes a shape with a condition in it when an extent is symbolic.
    up = ceil and all(isinstance(sizes[letter], int) for letter in spatial) and scope.index(3) == 2
    size, strides, dilation = [], [], []
    for place, letter in enumerate(spatial):
        low, high = scope.dim_range(sizes[letter])
        before, after = padding[place], padding[place + count]
        window, stride = scope.integer(1, min(3, low + before + after)), scope.pick((1, 2, 1, 3))
        step = scope.pick((1, 1, 2, 3)) if dilated and (window - 1) * 2 < low + before + after else 1
        if not all(covered(extent, window, stride, step, before, after, up) for extent in range(low, high + 1)):
            padding[place] = padding[place + count] = 0
            window, step = min(window, low), 1
        size.append(window)
        strides.append(stride)
        dilation.append(step)
    return Windows(size, strides, padding, dilation, up)


def _draw_pool(scope: Scope, kind: str, dimensions: int) -> Value:
    layout = pool_layout(scope, dimensions)
    # There is no least boolean ("Cannot decide min_value").
    dtypes = AVERAGED if kind == "avg" and scope.executable else NUMBERS
    data = spatial_tensor(scope, layout, dtypes)
    drawn = windows(scope, sizes_of(layout, data))
    include = scope.flip()
    # "TOPI does not support different input-output layouts".
    other = not scope.executable and len(layout) == dimensions + 2 and scope.rarely()
    built = getattr(nn, f"{kind}_pool{dimensions}d")(
        data.expr, drawn.size, drawn.strides, drawn.padding, drawn.dilation, drawn.ceil, include, layout,
        f"NC{SPATIAL[dimensions]}" if other else None,
    )  # fmt: skip
    known = data.known
    return scope.emit_rounded(built, known.including(0.0) if kind == "avg" else known, data.dtype, steps=32)


def _draw_adaptive(scope: Scope, dimensions: int) -> Value:
    layout = pool_layout(scope, dimensions)
    data = spatial_tensor(scope, layout, FLOATS)
    sizes = sizes_of(layout, data)
    target: list[int] | None = [
        scope.integer(1, 2 * scope.least(sizes[letter])) for letter in letters(layout) if letter in SPATIAL[3]
    ]
    # None keeps the extent. TVM defect: the one-dimensional legalization then fails ("Cannot convert from type
    # ir.IntImm").
    if scope.rarely() and (dimensions > 1 or not scope.executable):
        target = None
    call = getattr(nn, f"adaptive_avg_pool{dimensions}d")(data.expr, target, layout)
    return scope.emit_rounded(call, data.known, data.dtype)


for _kind, _rule in (("max", intervals.max_pool), ("avg", intervals.avg_pool)):
    for _dimensions in SPATIAL:
        _draw = partial(_draw_pool, kind=_kind, dimensions=_dimensions)
        ROWS.row(f"nn.{_kind}_pool{_dimensions}d", bounds=_rule)(_draw)
for _dimensions in SPATIAL:
    ROWS.row(f"nn.adaptive_avg_pool{_dimensions}d", bounds=lambda call: call[0].including(0.0))(
        partial(_draw_adaptive, dimensions=_dimensions)
    )
