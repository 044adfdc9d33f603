"""Image resizing and sampling, regions of interest, quantization."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from tvm import relax

from strategies.bounds import Bounds
from strategies.operators.drawing import (
    WIDE_FLOATS,
    bounds_of,
    emit,
    flip,
    keep,
    nonempty,
    shape_of,
)
from strategies.operators.row import Family, OperatorRow
from strategies.operators.spatial import spatial_tensor

if TYPE_CHECKING:
    from strategies.scope import Scope, Value

op = relax.op
image = relax.op.image


def _draw_resize(dimensions: int, call: Callable[..., Any]) -> Callable[[Scope], Value | None]:
    letters = "HW" if dimensions == 2 else "DHW"

    def draw(scope: Scope) -> Value | None:
        layout = f"N{letters}C" if scope.index(4) == 3 else f"NC{letters}"
        data = spatial_tensor(scope, layout, WIDE_FLOATS)
        data = keep(scope, data, -1024.0, 1024.0)
        size = tuple(scope.integer(1, 6) for _ in range(dimensions))
        method = scope.pick(("linear", "nearest_neighbor", "cubic"))
        mode = scope.pick(("half_pixel", "asymmetric", "align_corners"))
        if mode == "align_corners":
            size = tuple(max(extent, 2) for extent in size)  # divides by the new extent less 1
        rounding = scope.pick(("round", "floor", "ceil")) if method == "nearest_neighbor" else ""
        built = call(
            data.expr, size, layout=layout, method=method,
            coordinate_transformation_mode=mode, rounding_method=rounding,
        )  # fmt: skip
        known = bounds_of(data)
        if method == "cubic":  # weights that sum to 1 but may be negative: at most 2 in total magnitude a dimension
            known = known.absolute().scaled(2.0**dimensions)
            known = Bounds(-known.hi, known.hi)
        return emit(scope, built, known, data.dtype)

    return draw


def draw_grid_sample(scope: Scope) -> Value | None:
    """``grid_sample`` of two spatial dimensions at positions about [-1, 1], padded by zeros or by the border."""
    data = spatial_tensor(scope, "NCHW", ("float32",))
    data = keep(scope, data, -1024.0, 1024.0)
    grid_shape = (shape_of(data)[0], 2, scope.integer(1, 4), scope.integer(1, 4))
    grid = scope.tensor(dtypes=("float32",), shape=grid_shape, bounds=Bounds(-2.0, 2.0))
    method = scope.pick(("bilinear", "nearest", "bicubic"))
    # Reflection about the corners of a single element divides by an extent less 1.
    paddings = ("zeros", "border", "reflection") if min(shape_of(data)[2:]) > 1 else ("zeros", "border")
    padding = scope.pick(paddings)
    call = image.grid_sample(
        data.expr, grid.expr, method=method, layout="NCHW", padding_mode=padding, align_corners=flip(scope)
    )
    known = bounds_of(data).including(0.0)
    if method == "bicubic":
        known = Bounds(-4.0 * known.magnitude, 4.0 * known.magnitude)
    return emit(scope, call, known, data.dtype)


def draw_affine_grid(scope: Scope) -> Value | None:
    """``affine_grid`` of a batch of 2 by 3 matrices; the target is at least 2 wide, for its extent less 1 divides."""
    theta = scope.tensor(dtypes=("float32",), shape=(scope.integer(1, 3), 2, 3), bounds=Bounds(-2.0, 2.0))
    size = (scope.integer(2, 4), scope.integer(2, 4))
    return emit(scope, image.affine_grid(theta.expr, size, flip(scope)), Bounds(-6.0, 6.0), "float32")


def draw_quantize(scope: Scope) -> Value | None:
    """``quantize`` to 8 bits by one scale and zero point, or by one for each element of an axis."""
    data = scope.tensor(dtypes=("float32",), ranks=(1, 2, 3), where=nonempty(scope))
    where = scope.index(data.rank)
    dtype = scope.pick(("int8", "uint8"))
    shape = () if flip(scope) else (shape_of(data)[where],)
    scale = scope.tensor(dtypes=("float32",), shape=shape, bounds=Bounds(0.0625, 2.0))
    zero = scope.tensor(dtypes=("int8",), shape=shape, bounds=Bounds(0, 3, True))
    call = op.quantize(data.expr, scale.expr, zero.expr, where, dtype)
    return emit(scope, call, Bounds(-128, 127, True) if dtype == "int8" else Bounds(0, 255, True), dtype)


def draw_dequantize(scope: Scope) -> Value | None:
    """``dequantize`` from 8 bits to a float."""
    data = scope.tensor(dtypes=("int8", "uint8"), ranks=(1, 2, 3), where=nonempty(scope))
    where = scope.index(data.rank)
    dtype = scope.pick(("float32", "float16"))
    shape = () if flip(scope) else (shape_of(data)[where],)
    scale = scope.tensor(dtypes=(dtype,), shape=shape, bounds=Bounds(0.0625, 2.0))
    zero = scope.tensor(dtypes=("int8",), shape=shape, bounds=Bounds(0, 3, True))
    size = (bounds_of(data).magnitude + 3.0) * 2.0
    return emit(scope, op.dequantize(data.expr, scale.expr, zero.expr, where, dtype), Bounds(-size, size), dtype)


def _regions(scope: Scope, batch: int) -> Value:
    """Regions of interest: batch index, then two corners, the second beyond the first."""
    count = scope.integer(1, 2)
    rows = []
    for _ in range(count):
        left, top = scope.integer(0, 2), scope.integer(0, 2)
        rows.append([scope.index(batch), left, top, left + scope.integer(1, 3), top + scope.integer(1, 3)])
    expr = relax.const(np.array(rows, "float32"), "float32")
    return type(scope.scalar(0, "float32"))(expr, expr.ty, Bounds(0.0, 8.0))


def draw_roi_align(scope: Scope) -> Value | None:
    """``vision.roi_align`` with a fixed sampling ratio."""
    data = spatial_tensor(scope, "NCHW", ("float32",))
    rois = _regions(scope, int(shape_of(data)[0]))
    size = (scope.integer(1, 3), scope.integer(1, 3))
    mode = scope.pick(("avg", "max"))
    call = op.vision.roi_align(
        data.expr, rois.expr, size, scope.pick((1.0, 0.5)), scope.integer(1, 2), flip(scope), "NCHW", mode
    )
    return emit(scope, call, bounds_of(data).including(0.0), "float32")


def draw_roi_pool(scope: Scope) -> Value | None:
    """``vision.roi_pool``: maxima over the bins of each region; an empty bin gives 0."""
    data = spatial_tensor(scope, "NCHW", ("float32",))
    rois = _regions(scope, int(shape_of(data)[0]))
    size = (scope.integer(1, 3), scope.integer(1, 3))
    call = op.vision.roi_pool(data.expr, rois.expr, size, scope.pick((1.0, 0.5)))
    return emit(scope, call, bounds_of(data).including(0.0), "float32")


def draw_pixel_shuffle(scope: Scope) -> Value | None:
    """``nn.pixel_shuffle``: its legalization calls what topi lacks (AttributeError), so nothing runs it."""
    if scope.executable:
        return None
    factor = scope.integer(1, 2)
    shape = (scope.integer(1, 2), factor * factor * scope.integer(1, 2), scope.integer(1, 3), scope.integer(1, 3))
    data = scope.tensor(dtypes=WIDE_FLOATS, shape=shape)
    return scope.emit(op.nn.pixel_shuffle(data.expr, factor), bounds_of(data))


ROWS = (
    OperatorRow("relax.image.resize2d", Family.IMAGE, _draw_resize(2, image.resize2d)),
    OperatorRow("relax.image.resize3d", Family.IMAGE, _draw_resize(3, image.resize3d)),
    OperatorRow("relax.image.grid_sample", Family.IMAGE, draw_grid_sample),
    OperatorRow("relax.image.affine_grid", Family.IMAGE, draw_affine_grid),
    OperatorRow("relax.vision.roi_align", Family.VISION, draw_roi_align),
    OperatorRow("relax.vision.roi_pool", Family.VISION, draw_roi_pool),
    OperatorRow("relax.nn.pixel_shuffle", Family.IMAGE, draw_pixel_shuffle, executable=False),
    OperatorRow("relax.quantize", Family.QUANTIZE, draw_quantize),
    OperatorRow("relax.dequantize", Family.QUANTIZE, draw_dequantize),
)
