"""Reductions of dims and ranks."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.retype import Ends, dtype_of, rank_of
from relaxkit.ir.sketch.sketch import Sketch
from relaxkit.ir.sketch.slots import types_of
from relaxkit.ir.sketch.symbols import groups
from relaxkit.ir.types import dims_in, flat

# No extent becomes 1: broadcasting makes that one special, and the defect might turn into a neighbour of itself.
_SIZES = (2, 3)


@reduction("shrink dims")
def dims(sketch: Sketch) -> Edits:
    """Smaller static extents, and static ones for symbolic dims."""
    symbolic = groups(sketch)
    if len(symbolic) > 1:
        for place in range(2):
            sizes = {
                symbol: item.sizes[min(place, len(item.sizes) - 1)] for item in symbolic for symbol in item.symbols
            }
            yield (0, place), edit(sketch, _retype, sizes, {})
    for number, item in enumerate(symbolic):
        for place, size in enumerate(item.sizes):
            yield (1, number, place), edit(sketch, _retype, dict.fromkeys(item.symbols, size), {})
    extents = {int(dim) for ty in types_of(sketch) for dim in dims_in(ty) if isinstance(dim, tvm.tirx.IntImm)}
    large = sorted(item for item in extents if item > 1)
    packed = {extent: 2 + place for place, extent in enumerate(large) if extent != 2 + place}
    if len(packed) > 1:  # all at once, and distinct ones stay distinct
        yield (2, 0), edit(sketch, _retype, {}, packed)
    if len(large) > 1:
        yield (2, 1), edit(sketch, _retype, {}, dict.fromkeys(large, 2))
    for size in _SIZES:
        for extent in sorted(extents, reverse=True):
            if extent > size or extent == 0:
                yield (3, size, -extent), edit(sketch, _retype, {}, {extent: size})


def _retype(sketch: Sketch, symbols: dict[Any, int], dims: dict[int, int]) -> None:
    for symbol, size in symbols.items():
        sketch.retype.symbols[symbol] = tvm.tirx.IntImm(dtype_of(symbol), size)
    sketch.retype.dims.update(dims)


_RANKS = (1, 2, 3)  # scalars are special: most operators treat them in their own way


@reduction("lower ranks")
def ranks(sketch: Sketch) -> Edits:
    """Fewer dims: every shape of the module loses its last dims, or its first ones."""
    if any(_is_free(leaf) for ty in types_of(sketch) for leaf in flat(ty)):
        return  # a shape that is computed has the rank that it has
    highest = max((rank_of(ty) for ty in types_of(sketch)), default=0)
    for rank in _RANKS:
        if rank < highest:
            for place, end in enumerate(Ends):
                yield (rank, place), edit(sketch, _lower, rank, end)


def _is_free(ty: Any) -> bool:
    """Say whether a type has a shape that is a value of its own, not written out."""
    if isinstance(ty, relax.TensorType):
        return ty.shape is not None and not isinstance(ty.shape, relax.ShapeExpr)
    return isinstance(ty, relax.ShapeType) and ty.values is None


def _lower(sketch: Sketch, rank: int, end: Ends) -> None:
    sketch.retype.rank, sketch.retype.end = rank, end


@reduction("single elements", final=True)
def single_dims(sketch: Sketch) -> Edits:
    """Extents of 1, where everything else is done: fewer elements to read, although broadcasting makes 1 special."""
    extents = {int(dim) for ty in types_of(sketch) for dim in dims_in(ty) if isinstance(dim, tvm.tirx.IntImm)}
    for extent in sorted(extents, reverse=True):
        if extent > 1:
            yield (-extent,), edit(sketch, _retype, {}, {extent: 1})
