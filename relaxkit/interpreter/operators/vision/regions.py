"""Pooling of regions of interest, as in torchvision and ONNX (``RoiAlign``, ``MaxRoiPool``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from relaxkit.interpreter.registry import Array, Request, Unsupported, semantics

MOST_SAMPLES = 64
"""Samples of a bin along one axis beyond which the interpreter gives up; a drawn region has a few."""


@semantics("vision.roi_align")
def roi_align(request: Request) -> Any:
    """Return averages or maxima of bilinear samples, evenly spaced in the bins of each region.

    ``aligned`` leaves out the widening of small regions to one pixel; the shift by half a pixel that other libraries
    mean with it is the caller's (TVM's importers of ONNX and PyTorch subtract it themselves).
    """
    data, rois = _operands(request)
    channels_last = str(request.attr("layout")) == "NHWC"
    if channels_last:
        data = np.moveaxis(data, -1, 1)
    elif str(request.attr("layout")) != "NCHW":
        raise Unsupported("layout of an image")
    mode, ratio = str(request.attr("mode")), request.integer("sample_ratio")
    size = request.integers("pooled_size") or ()
    batches = _batches(request, rois, data.shape[0])
    starts, ends = (rois[:, [at + 1, at]] * rois.dtype.type(request.attr("spatial_scale")) for at in (1, 3))
    # Whether a pixel of weight zero is read is not documented.
    request.undefined(~np.isfinite(data), "infinite pixel of any weight")
    spans = ends - starts  # height and width of each region
    request.undefined(~np.isfinite(spans), "region beyond its dtype")
    if not request.attr("aligned", False):
        spans = np.maximum(spans, 1)
    results = []
    for batch, start, span in zip(batches, starts, spans, strict=True):
        samples = []
        for axis in range(2):
            count = ratio if ratio > 0 else int(np.ceil(span[axis] / size[axis]))
            request.undefined(count < 1, "region without samples")
            if count > MOST_SAMPLES:
                raise Unsupported("bin of many samples")
            steps = (np.arange(count) + 0.5) / count + np.arange(size[axis])[:, None]
            samples.append(start[axis] + (steps * (span[axis] / size[axis])).astype(rois.dtype))
        values = _bilinear(data[batch], *samples)
        reduced = values.mean(axis=(2, 4)) if mode == "avg" else values.max(axis=(2, 4))
        results.append(reduced)
    if mode not in ("avg", "max"):
        raise Unsupported("mode of roi_align")
    stacked = np.stack(results) if results else np.zeros((0, data.shape[1], *size), data.dtype)
    return request.cast(np.moveaxis(stacked, 1, -1) if channels_last else stacked)


def _bilinear(image: Array, rows: Array, columns: Array) -> Array:
    """Samples ``[channel, bin, sample, bin, sample]``; zero more than a pixel outside, else the border's."""
    height, width = image.shape[1:]
    outside_row, outside_column = (rows < -1) | (rows > height), (columns < -1) | (columns > width)
    outside = outside_row[:, :, None, None] | outside_column[None, None]
    rows, columns = np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)
    top, left = np.floor(rows).astype("int64"), np.floor(columns).astype("int64")
    bottom, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    down = (rows - top).astype(image.dtype)[:, :, None, None]
    along = (columns - left).astype(image.dtype)

    def row(at: Array) -> Array:
        here, there = image[:, at][:, :, :, left], image[:, at][:, :, :, right]
        return np.asarray(here * (1 - along) + there * along)

    sampled = row(top) * (1 - down) + row(bottom) * down
    return np.asarray(np.where(outside, image.dtype.type(0), sampled))


@semantics("vision.roi_pool")
def roi_pool(request: Request) -> Any:
    """Return maxima over the pixels of the bins of each region; an empty bin gives 0.

    Corners are rounded, halves away from zero, and both belong to the region.
    """
    data, rois = _operands(request)
    if str(request.attr("layout")) != "NCHW":
        raise Unsupported("layout of an image")
    request.undefined(np.isnan(data), "maximum of NaN")
    height, width = request.integers("pooled_size") or ()
    scaled = rois[:, 1:] * rois.dtype.type(request.attr("spatial_scale"))
    request.undefined(~(np.abs(scaled) < 2.0**31), "region beyond the integers")
    corners = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled).astype("int64")
    result = np.zeros((len(rois), data.shape[1], height, width), data.dtype)
    for number, batch in enumerate(_batches(request, rois, data.shape[0])):
        left, top, right, bottom = (int(each) for each in corners[number])
        rows = _bins(top, bottom, height, data.shape[2])
        columns = _bins(left, right, width, data.shape[3])
        for row, (begin, end) in enumerate(rows):
            for column, (first, last) in enumerate(columns):
                if begin < end and first < last:
                    result[number, :, row, column] = data[batch, :, begin:end, first:last].max(axis=(1, 2))
    return request.cast(result)


def _bins(start: int, end: int, count: int, extent: int) -> list[tuple[int, int]]:
    """Begin and end of each bin of an axis, within the image; bins overlap where they do not divide evenly."""
    size = max(end - start + 1, 1)
    edges = [(start + number * size // count, start - (-(number + 1) * size // count)) for number in range(count)]
    return [(min(max(begin, 0), extent), min(max(stop, 0), extent)) for begin, stop in edges]


def _operands(request: Request) -> tuple[Array, Array]:
    data, rois = request.wide(0), request.wide(1)
    request.undefined(~np.isfinite(rois), "region that is not a number")
    request.undefined(data.size == 0, "region of an empty image")
    return data, rois


def _batches(request: Request, rois: Array, count: int) -> list[int]:
    """Return the numbers of the images that the regions belong to."""
    numbers = np.trunc(rois[:, 0])
    request.undefined((numbers < 0) | (numbers >= count), "region of an image that is not there")
    return [int(number) for number in numbers]
