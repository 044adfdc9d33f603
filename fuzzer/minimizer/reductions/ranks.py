"""Fewer dims: every shape of the module loses its last dims, or its first ones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tvm import relax

from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.retype import Ends, rank_of
from fuzzer.minimizer.sketch import Sketch
from fuzzer.minimizer.slots import types_of

_RANKS = (1, 2, 3)  # scalars are special: most operators treat them in their own way


def _edits(sketch: Sketch) -> Iterator[Edit]:
    if any(map(_is_free, types_of(sketch))):
        return  # a shape that is computed has the rank that it has
    highest = max((rank_of(ty) for ty in types_of(sketch)), default=0)
    for rank in _RANKS:
        if rank < highest:
            for place, end in enumerate(Ends):
                yield (rank, place), partial(_lower, sketch, rank, end)


def _is_free(ty: Any) -> bool:
    """Whether a type has a shape that is a value of its own, not written out."""
    if isinstance(ty, relax.TupleType):
        return any(map(_is_free, ty.fields))
    if isinstance(ty, relax.TensorType):
        return ty.shape is not None and not isinstance(ty.shape, relax.ShapeExpr)
    return isinstance(ty, relax.ShapeType) and ty.values is None


def _lower(sketch: Sketch, rank: int, end: Ends) -> Sketch:
    result = sketch.copy()
    result.retype.rank, result.retype.end = rank, end
    return result


REDUCTION = Reduction("lower ranks", _edits)
