"""Convolutions and transposed convolutions in one, two and three dimensions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

from tvm import relax

from strategies.operators import intervals
from strategies.operators.adapt import adapted
from strategies.operators.drawing import FLOATS, product_sum
from strategies.operators.linalg import product_dtypes
from strategies.operators.row import OperatorFamily, Rows
from strategies.operators.vision.spatial import SPATIAL, arranged, block, pads, sizes_of, spatial_tensor
from strategies.scope.scope import Scope
from strategies.scope.values import Value

ROWS = Rows(OperatorFamily.CONV)

nn = relax.op.nn

DTYPES = (*FLOATS, "int8", "uint8", "int32", "int64", "int16")

MOST_WORK = 2**15
"""How many products one convolution computes at most."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The layouts of a convolution's data, kernel and result, ``None`` for that of the data."""

    data: str
    kernel: str
    out: str | None = None


def _kernels(first: str, spatial: str) -> tuple[str, ...]:
    """Return layouts of a kernel, ``first`` the usual one.

    TVM defect: a layout with W before H passes inference, and the kernel takes strides, padding and window in the
    order of the layout instead: silently wrong, or of another shape.  No layout here has it.
    """
    forms = (f"OI{spatial}", f"{spatial}IO", f"O{spatial}I", f"IO{spatial}", f"{spatial}OI", f"I{spatial}O")
    return (first, first, *(form for form in forms if form != first))


def layouts(dimensions: int, scope: Scope, transposed: bool) -> Layout:
    """Draw layouts: those that have a kernel; where nothing runs also another for the result, and blocked ones."""
    spatial = SPATIAL[dimensions]
    usual = Layout(f"NC{spatial}", f"{'IO' if transposed else 'OI'}{spatial}")
    data_forms = (usual.data, usual.data, f"N{spatial}C", f"C{spatial}N", f"{spatial}NC")
    # "TOPI does not support ..., and thus cannot be legalized": a transposed convolution of any other layout, a result
    # of another than the data, and blocks of channels.
    if transposed and scope.executable:
        return usual
    if scope.index(4) < 2:
        return usual
    drawn = Layout(scope.pick(data_forms), scope.pick(_kernels(usual.kernel, spatial)))
    if scope.executable:
        return drawn
    way = scope.index(6)
    if way == 5:
        return Layout(f"NC{spatial}4c", f"OI{spatial}4i4o")
    return Layout(drawn.data, drawn.kernel, scope.pick(data_forms)) if way == 4 else drawn


def _groups(scope: Scope, channels: int) -> int:
    """Draw one group mostly; else a divisor of the channels, most often as many as there are (depthwise)."""
    if scope.index(4) < 2:
        return 1
    divisors = [n for n in range(1, channels + 1) if channels % n == 0]
    return scope.pick((divisors[-1], *divisors))


def _draw_conv(scope: Scope, dimensions: int) -> Value | None:
    spatial = SPATIAL[dimensions]
    layout = layouts(dimensions, scope, False)
    data = spatial_tensor(scope, layout.data, DTYPES, "" if scope.index(4) == 3 else "C")
    sizes = sizes_of(layout.data, data)
    channels = sizes["C"]
    blocks = block(layout.data)
    groups = _groups(scope, channels) if isinstance(channels, int) and not blocks else 1
    # Of symbolic channels the kernel has as many.
    inner = channels // groups if isinstance(channels, int) else channels
    kernel: dict[str, Any] = {"O": groups * scope.integer(1, 3), "I": inner, "i": 4, "o": 4}
    padding, strides, dilation = pads(scope, dimensions), [], []
    for place, letter in enumerate(spatial):
        extent = scope.least(sizes[letter]) + padding[place] + padding[place + dimensions]
        window = scope.integer(1, min(3, extent))
        wide = [d for d in (1, 2, 3) if (window - 1) * d + 1 <= extent] if window > 1 else [1, 2]
        dilation.append(scope.pick((1, *wide)))
        strides.append(scope.pick((1, 2, 1, 3)))
        kernel[letter] = window
    right, out = product_dtypes(scope, data.dtype)
    weight = adapted(scope, dtypes=(right,), shape=arranged(layout.kernel, kernel), share=32)
    terms = scope.most_elements([kernel["I"], *(kernel[letter] for letter in spatial)]) * max(blocks, 1)
    if terms * scope.most_elements([*sizes.values(), kernel["O"]]) > MOST_WORK * 8:
        return None
    data, weight, known = product_sum(scope, data, weight, terms, out)
    built = getattr(nn, f"conv{dimensions}d")(
        data.expr, weight.expr, strides, padding, dilation, groups, layout.data, layout.kernel, layout.out,
        out_dtype=out if out != data.dtype or right != data.dtype or scope.rarely() else None,
    )  # fmt: skip
    return scope.emit_rounded(built, known, out)


def _draw_transposed(scope: Scope, dimensions: int) -> Value:
    spatial = SPATIAL[dimensions]
    layout = layouts(dimensions, scope, True)
    if block(layout.data):
        layout = Layout("NC" + spatial, "IO" + spatial)
    data = spatial_tensor(scope, layout.data, DTYPES, "C")
    sizes = sizes_of(layout.data, data)
    channels = int(sizes["C"])
    groups = _groups(scope, channels)
    kernel: dict[str, Any] = {"I": channels, "O": scope.integer(1, 3)}
    strides, dilation, extra = [], [], []
    padding = [0] * (2 * dimensions)
    for place, letter in enumerate(spatial):
        kernel[letter] = window = scope.integer(1, 3)
        strides.append(scope.pick((1, 2, 1, 3)))
        dilation.append(scope.pick((1, 1, 2)))
        extra.append(scope.index(strides[-1]) if scope.index(2) else 0)
        # The padding stays below the window, and the result keeps at least one element.
        reach = dilation[-1] * (window - 1)
        room = (scope.least(sizes[letter]) - 1) * strides[-1] + reach + extra[-1]
        near = scope.index(min(2, reach, room) + 1)
        far = near if scope.index(2) else scope.index(min(2, reach, room) + 1)
        padding[place], padding[place + dimensions] = near, min(far, room - near)
    right, out = product_dtypes(scope, data.dtype)
    weight = adapted(scope, dtypes=(right,), shape=arranged(layout.kernel, kernel), share=32)
    terms = channels // groups * math.prod(kernel[letter] for letter in spatial)
    data, weight, known = product_sum(scope, data, weight, terms, out)
    built = getattr(nn, f"conv{dimensions}d_transpose")(
        data.expr, weight.expr, strides, padding, extra, dilation, groups, layout.data, layout.kernel, layout.out,
        out_dtype=out if out != data.dtype or right != data.dtype else None,
    )  # fmt: skip
    return scope.emit_rounded(built, known, out)


for _draw, _suffix in ((_draw_conv, ""), (_draw_transposed, "_transpose")):
    for _dimensions in SPATIAL:
        ROWS.row(f"nn.conv{_dimensions}d{_suffix}", bounds=intervals.conv)(partial(_draw, dimensions=_dimensions))
