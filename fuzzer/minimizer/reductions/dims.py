"""Smaller static extents, and static ones for symbolic dims."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm
from tvm import relax

from fuzzer.minimizer import walk
from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Sketch
from fuzzer.minimizer.slots import slots_of

# No extent becomes 1: broadcasting makes that one special, and the defect might turn into a neighbour of itself.
_SIZES = (2, 3)


def _edits(sketch: Sketch) -> Iterator[Edit]:
    symbols, extents = _dims(sketch)
    if len(symbols) > 1:
        for place, size in enumerate((2, 3)):
            yield (0, place), partial(_retype, sketch, dict.fromkeys(symbols, size), {})
    for number, symbol in enumerate(symbols):
        for place, size in enumerate((2, 3)):
            yield (1, number, place), partial(_retype, sketch, {symbol: size}, {})
    large = sorted(item for item in extents if item > 1)
    packed = {extent: 2 + place for place, extent in enumerate(large) if extent != 2 + place}
    if len(packed) > 1:  # all at once, and distinct ones stay distinct
        yield (2,), partial(_retype, sketch, {}, packed)
    for size in _SIZES:
        for extent in sorted(extents, reverse=True):
            if extent > size or extent == 0:
                yield (3, size, -extent), partial(_retype, sketch, {}, {extent: size})


def _retype(sketch: Sketch, symbols: dict[Any, int], dims: dict[int, int]) -> Sketch:
    result = sketch.copy()
    for symbol, size in symbols.items():
        result.retype.symbols[symbol] = tvm.tirx.IntImm(str(symbol.ty), size)
    result.retype.dims.update(dims)
    return result


def _dims(sketch: Sketch) -> tuple[list[Any], set[int]]:
    """Symbolic vars in order of appearance, and the static extents, of all types of vars."""
    symbols: dict[Any, None] = {}
    extents: set[int] = set()
    types = [param.ty for func in sketch.relax_functions().values() for param in func.params]
    own = {param for func in sketch.relax_functions().values() for param in func.params}
    types += [slot.binding.var.ty for slot in slots_of(sketch)]
    types += [slot.binding.cast for slot in slots_of(sketch) if slot.binding.cast is not None]
    for ty in types:
        for item in walk.leaves_of_type(ty):
            if isinstance(item, relax.Var) and isinstance(item.ty, tvm.ir.PrimType) and item not in own:
                symbols[item] = None
        extents |= _extents(ty)
    return list(symbols), extents


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
