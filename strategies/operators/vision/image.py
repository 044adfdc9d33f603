"""Image resizing and sampling, and pixel shuffles."""

from __future__ import annotations

from functools import partial
from typing import Any

from tvm import relax

from strategies.operators.adapt import adapted
from strategies.operators.drawing import FLOATS, WIDE_FLOATS
from strategies.operators.row import OperatorFamily, Rows
from strategies.operators.vision.spatial import SPATIAL, sizes_of, spatial_tensor
from strategies.scope.bounds import Bounds, is_float
from strategies.scope.scope import Scope, Value

ROWS = Rows(OperatorFamily.IMAGE)


op = relax.op
image = relax.op.image

WHOLE = ("uint8", "int8", "int32")
"""Integers that images are made of."""

METHODS = ("linear", "nearest_neighbor", "cubic")
MODES = (
    "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize",
)  # fmt: skip
ROUNDINGS = ("round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil")


def _draw_resize(scope: Scope, dimensions: int) -> Value | None:
    letters = SPATIAL[dimensions]
    layouts = (f"NC{letters}", f"NC{letters}", f"N{letters}C", "NCHW2c" if dimensions == 2 else f"N{letters}C")
    layout = scope.pick(layouts)
    method = scope.pick(METHODS)
    mode = scope.pick(MODES)
    # TVM defect: some kernels cannot scale a symbolic extent ("IntImm supports only int or uint or bool type").
    whole = scope.index(3) == 2
    known_extents = whole or mode in ("asymmetric", "align_corners", "tf_crop_and_resize")
    dtypes = (*WHOLE, "bool") if whole and method == "nearest_neighbor" else WHOLE if whole else FLOATS
    data = spatial_tensor(scope, layout, dtypes, letters if known_extents else "")
    if data.dtype != "bool":
        data = scope.keep(data, *((-1024.0, 1024.0) if is_float(data.dtype) else (-30, 30)))
    # These divide by the new extent less 1; cropping also by the old one's.
    least = 2 if mode in ("align_corners", "tf_crop_and_resize") else 1
    size: Any = tuple(scope.integer(least, 6) for _ in range(dimensions))
    if scope.rarely():
        size = max(size)
    rounding = scope.pick(ROUNDINGS) if method == "nearest_neighbor" else ""
    if mode == "asymmetric" and method == "nearest_neighbor" and scope.index(2):
        # A whole factor: the kernel divides integers then.
        sizes = sizes_of(layout, data)
        size = tuple(int(sizes[letter]) * scope.integer(1, 2) for letter in letters)
    given: dict[str, Any] = {}
    known = data.known
    if method == "cubic":
        # Weights that sum to 1 but may be negative: at most 2 in total magnitude a dimension.
        size_of = known.magnitude * 2.0**dimensions
        known = Bounds(-size_of, size_of)
        given["cubic_alpha"] = scope.pick((-0.75, -0.5))
    if mode == "tf_crop_and_resize":
        corners = [scope.pick((0.0, 0.25, 0.0)) for _ in letters] + [scope.pick((1.0, 0.75)) for _ in letters]
        given["roi"] = tuple(corners)
        given["extrapolation_value"] = scope.pick((0.0, 1.0))
        known = known.including(given["extrapolation_value"])
    # TVM defect: the kernel ignores an output dtype.
    if not scope.executable and scope.rarely():
        given["out_dtype"] = "float32"
    built = getattr(image, f"resize{dimensions}d")(
        data.expr, size, layout=layout, method=method, coordinate_transformation_mode=mode,
        rounding_method=rounding, **given,
    )  # fmt: skip
    dtype = given.get("out_dtype", data.dtype)
    if dtype == "bool":
        return scope.emit(built, Bounds(0, 1, True))
    if not is_float(dtype) and dtype.startswith("uint") and known.lo < 0:
        return None  # a cubic curve falls below zero where no unsigned integer does
    return scope.emit_rounded(built, known, dtype)


for _dimensions in (2, 3):
    ROWS.row(f"image.resize{_dimensions}d")(partial(_draw_resize, dimensions=_dimensions))


@ROWS.row("image.grid_sample")
def draw_grid_sample(scope: Scope) -> Value | None:
    """Draw ``grid_sample`` of two or three spatial dimensions at positions about [-1, 1], padded in each way."""
    dimensions = 3 if scope.index(4) == 3 else 2
    layout = f"NC{SPATIAL[dimensions]}"
    # TVM defect: the kernel yields float32 for float16.
    data = spatial_tensor(scope, layout, WIDE_FLOATS if scope.executable else FLOATS)
    data = scope.keep(data, -1024.0, 1024.0)
    dims = data.shape
    grid_shape = (dims[0], dimensions, *(scope.integer(1, 4) for _ in range(dimensions)))
    grid = adapted(scope, dtypes=("float32",), shape=grid_shape, bounds=Bounds(-2.0, 2.0))
    # "bicubic is not supported" in three dimensions.
    methods = ("bilinear", "nearest", "bicubic") if dimensions == 2 or not scope.executable else ("bilinear", "nearest")
    method = scope.pick(methods)
    # Reflection about the corners of a single element divides by an extent less 1.
    wide = min(scope.dim_range(dim)[0] for dim in dims[2:]) > 1
    padding = scope.pick(("zeros", "border", "reflection") if wide else ("zeros", "border"))
    call = image.grid_sample(
        data.expr, grid.expr, method=method, layout=layout, padding_mode=padding, align_corners=scope.flip()
    )
    known = data.known.including(0.0)
    if method == "bicubic":
        known = Bounds(-4.0 * known.magnitude, 4.0 * known.magnitude)
    return scope.emit_rounded(call, known, data.dtype)


@ROWS.row("image.affine_grid")
def draw_affine_grid(scope: Scope) -> Value | None:
    """Draw ``affine_grid`` of a batch of matrices, 2 by 3 or 3 by 4, for a plane or a volume."""
    dimensions = 3 if scope.index(4) == 3 else 2
    batch = scope.pick(scope.frame.symbol_list) if scope.rarely() and scope.frame.symbol_list else scope.integer(1, 3)
    shape = (batch, dimensions, dimensions + 1)
    theta = adapted(scope, dtypes=FLOATS, shape=shape, bounds=Bounds(-2.0, 2.0), share=56)
    aligned = scope.flip()
    # Aligned corners divide by the extent less 1.
    size: Any = tuple(scope.integer(2 if aligned else 1, 4) for _ in range(dimensions))
    if dimensions == 2 and scope.rarely():
        size = max(size)
    limit = 2.0 * (dimensions + 1)
    return scope.emit_rounded(image.affine_grid(theta.expr, size, aligned), Bounds(-limit, limit), theta.dtype)


@ROWS.row("nn.pixel_shuffle", executable=False)
def draw_pixel_shuffle(scope: Scope) -> Value | None:
    """Draw ``nn.pixel_shuffle``: its legalization calls what topi lacks (AttributeError), so nothing runs it."""
    if scope.executable:
        return None
    factor = scope.integer(1, 3)
    lead = [scope.integer(1, 2) for _ in range(scope.pick((1, 0, 2)))]
    shape = (*lead, factor * factor * scope.integer(1, 2), scope.integer(1, 3), scope.integer(1, 3))
    data = adapted(scope, dtypes=(*FLOATS, "int8", "int32"), shape=shape)
    return scope.emit(op.nn.pixel_shuffle(data.expr, factor), data.known)
