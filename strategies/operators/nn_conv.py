"""Convolutions and transposed convolutions in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tvm import relax

from strategies.operators.drawing import FLOATS, emit, shape_of
from strategies.operators.linalg import product_sum
from strategies.operators.row import Family, OperatorRow

if TYPE_CHECKING:
    from strategies.scope import Scope, Value

nn = relax.op.nn

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


@dataclass(frozen=True, slots=True)
class Layout:
    """A pair of layouts: of the data and of the kernel."""

    data: str
    kernel: str


def layouts(spatial: str, transposed: bool) -> tuple[Layout, ...]:
    """Pairs of layouts that have a kernel; transposed convolutions have one only for channels first."""
    if transposed:
        return (Layout("NC" + spatial, "IO" + spatial),)
    first = Layout("NC" + spatial, "OI" + spatial)
    return (first, first, Layout("N" + spatial + "C", spatial + "IO"), Layout("N" + spatial + "C", "O" + spatial + "I"))


def convolution_layouts(dimensions: int) -> tuple[Layout, ...]:
    """Layouts of a plain convolution: conv1d's kernel for channels last takes ``WIO`` alone."""
    pairs = layouts(SPATIAL[dimensions], False)
    return pairs[:3] if dimensions == 1 else pairs


def _arranged(layout: str, sizes: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(sizes[letter] for letter in layout)


def spatial_tensor(scope: Scope, layout: str, dtypes: tuple[str, ...] = FLOATS) -> Value:
    """A static tensor of a layout's rank, no dimension 0, of moderate size."""
    return scope.tensor(
        dtypes=dtypes,
        ranks=(len(layout),),
        static=True,
        where=lambda value: 0 not in shape_of(value) and max(shape_of(value)) <= 8,
    )


def pads(scope: Scope, dimensions: int) -> list[int]:
    """Padding of each side: none, the same on all, or each its own."""
    way = scope.index(4)
    if way < 2:
        return [0] * (2 * dimensions)
    if way == 2:
        return [scope.integer(1, 2)] * (2 * dimensions)
    return [scope.index(3) for _ in range(2 * dimensions)]


def _draw_conv(dimensions: int, call: Callable[..., Any]) -> Callable[[Scope], Value | None]:
    spatial = SPATIAL[dimensions]

    def draw(scope: Scope) -> Value | None:
        layout = scope.pick(convolution_layouts(dimensions))
        data = spatial_tensor(scope, layout.data)
        sizes = dict(zip(layout.data, shape_of(data), strict=True))
        channels = int(sizes["C"])
        groups = scope.pick([n for n in range(1, channels + 1) if channels % n == 0]) if scope.index(4) == 3 else 1
        kernel: dict[str, Any] = {"O": groups * scope.integer(1, 3), "I": channels // groups}
        padding, strides, dilation = pads(scope, dimensions), [], []
        for place, letter in enumerate(spatial):
            extent = int(sizes[letter]) + padding[place] + padding[place + dimensions]
            window = scope.integer(1, min(3, extent))
            dilation.append(scope.pick((1, 2)) if (window - 1) * 2 + 1 <= extent else 1)
            strides.append(scope.pick((1, 2)))
            kernel[letter] = window
        weight = scope.tensor(dtypes=(data.dtype,), shape=_arranged(layout.kernel, kernel))
        terms = kernel["I"]
        for letter in spatial:
            terms *= kernel[letter]
        guarded = product_sum(scope, data, weight, terms, data.dtype)
        if guarded is None:
            return None
        data, weight, known = guarded
        built = call(
            data.expr, weight.expr, strides, padding, dilation, groups, layout.data, layout.kernel,
            out_dtype="float32" if data.dtype == "float16" and scope.index(4) == 3 else None,
        )  # fmt: skip
        return emit(scope, built, known, data.dtype)

    return draw


def _draw_transposed(dimensions: int, call: Callable[..., Any]) -> Callable[[Scope], Value | None]:
    spatial = SPATIAL[dimensions]
    (layout,) = layouts(spatial, True)

    def draw(scope: Scope) -> Value | None:
        data = spatial_tensor(scope, layout.data)
        sizes = dict(zip(layout.data, shape_of(data), strict=True))
        channels = int(sizes["C"])
        groups = scope.pick([n for n in range(1, channels + 1) if channels % n == 0]) if scope.index(4) == 3 else 1
        kernel: dict[str, Any] = {"I": channels, "O": scope.integer(1, 3)}
        strides, padding, extra = [], [0] * (2 * dimensions), []
        for place, letter in enumerate(spatial):
            kernel[letter] = scope.integer(1, 3)
            strides.append(scope.pick((1, 2)))
            # The result must keep at least one element, and the padding must stay below the kernel.
            padding[place] = padding[place + dimensions] = scope.index(2) if kernel[letter] == 3 else 0
            extra.append(scope.index(strides[-1]))
        if any(
            (int(sizes[a]) - 1) * s + kernel[a] - 2 * p < 1 for a, s, p in zip(spatial, strides, padding, strict=False)
        ):
            padding = [0] * (2 * dimensions)
        weight = scope.tensor(dtypes=(data.dtype,), shape=_arranged(layout.kernel, kernel))
        terms = channels // groups
        for letter in spatial:
            terms *= kernel[letter]
        guarded = product_sum(scope, data, weight, terms, data.dtype)
        if guarded is None:
            return None
        data, weight, known = guarded
        dilation = [1] * dimensions
        built = call(data.expr, weight.expr, strides, padding, extra, dilation, groups, layout.data, layout.kernel)
        return emit(scope, built, known, data.dtype)

    return draw


ROWS = (
    OperatorRow("relax.nn.conv1d", Family.CONV, _draw_conv(1, nn.conv1d)),
    OperatorRow("relax.nn.conv2d", Family.CONV, _draw_conv(2, nn.conv2d)),
    OperatorRow("relax.nn.conv3d", Family.CONV, _draw_conv(3, nn.conv3d)),
    OperatorRow("relax.nn.conv1d_transpose", Family.CONV, _draw_transposed(1, nn.conv1d_transpose)),
    OperatorRow("relax.nn.conv2d_transpose", Family.CONV, _draw_transposed(2, nn.conv2d_transpose)),
    OperatorRow("relax.nn.conv3d_transpose", Family.CONV, _draw_transposed(3, nn.conv3d_transpose)),
)
