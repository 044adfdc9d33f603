"""Smaller static extents, and static ones for symbolic dims."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm
from tvm import relax

from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.retype import dtype_of
from fuzzer.minimizer.sketch import Sketch
from fuzzer.minimizer.slots import types_of
from fuzzer.minimizer.symbols import groups

# No extent becomes 1: broadcasting makes that one special, and the defect might turn into a neighbour of itself.
_SIZES = (2, 3)


def _edits(sketch: Sketch) -> Iterator[Edit]:
    symbolic = groups(sketch)
    if len(symbolic) > 1:
        for place in range(2):
            sizes = {
                symbol: item.sizes[min(place, len(item.sizes) - 1)] for item in symbolic for symbol in item.symbols
            }
            yield (0, place), partial(_retype, sketch, sizes, {})
    for number, item in enumerate(symbolic):
        for place, size in enumerate(item.sizes):
            yield (1, number, place), partial(_retype, sketch, dict.fromkeys(item.symbols, size), {})
    extents = set().union(*map(_extents, types_of(sketch)))
    large = sorted(item for item in extents if item > 1)
    packed = {extent: 2 + place for place, extent in enumerate(large) if extent != 2 + place}
    if len(packed) > 1:  # all at once, and distinct ones stay distinct
        yield (2, 0), partial(_retype, sketch, {}, packed)
    if len(large) > 1:
        yield (2, 1), partial(_retype, sketch, {}, dict.fromkeys(large, 2))
    for size in _SIZES:
        for extent in sorted(extents, reverse=True):
            if extent > size or extent == 0:
                yield (3, size, -extent), partial(_retype, sketch, {}, {extent: size})


def _retype(sketch: Sketch, symbols: dict[Any, int], dims: dict[int, int]) -> Sketch:
    result = sketch.copy()
    for symbol, size in symbols.items():
        result.retype.symbols[symbol] = tvm.tirx.IntImm(dtype_of(symbol), size)
    result.retype.dims.update(dims)
    return result


def _extents(ty: Any) -> set[int]:
    if isinstance(ty, relax.TupleType):
        return set().union(*(_extents(item) for item in ty.fields))
    values: Any = ()
    if isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr):
        values = ty.shape.values
    elif isinstance(ty, relax.ShapeType) and ty.values is not None:
        values = ty.values
    return {int(item) for item in values if isinstance(item, tvm.tirx.IntImm)}


REDUCTION = Reduction("shrink dims", _edits)
