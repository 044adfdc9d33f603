"""Fewer dims: every shape of the module loses its last dims, or its first ones."""

from __future__ import annotations

from typing import Any

from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.retype import Ends, rank_of
from relaxkit.ir.sketch.sketch import Sketch
from relaxkit.ir.sketch.slots import types_of
from relaxkit.ir.types import flat

_RANKS = (1, 2, 3)  # scalars are special: most operators treat them in their own way


@reduction("lower ranks")
def edits(sketch: Sketch) -> Edits:
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
