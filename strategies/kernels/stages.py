"""Stages of drawn kernels: what one block does with a buffer, from element-wise work to reductions.

A stage reads only what is there: an index that could leave its buffer stands behind ``T.if_then_else``, whose branches
are evaluated only when they are taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import tirx

from strategies.kernels.builder import (
    INDEX,
    BlockReduction,
    BufferSource,
    Extent,
    KernelBuilder,
    KernelStage,
    Nest,
    Reads,
    ScalarTerm,
    axes,
    fixed,
    number,
)
from strategies.kernels.terms import as_dtype, const, joined, small
from strategies.scope.bounds import Bounds, dtype_bounds, is_float
from strategies.scope.choices import Choices
from strategies.scope.values import same_dim, same_dims

MAX_GROWTH = 4
"""What a stage adds to a dim, or the dim that it adds, is at most this."""


Draw = Callable[[Choices, Sequence[BufferSource], "Extents"], "KernelStage | None"]
"""Draws a stage over sources of which the first counts most; ``None`` where it does not fit."""


@dataclass(frozen=True, slots=True)
class Extents:
    """Facts about dims that a stage may know.

    Attributes:
        range: The least and the greatest value that a dim takes.
        computed: Whether dims may be computed from symbols.
        scalars: Numbers that the caller gives as parameters, at least 1.
    """

    range: Callable[[Any], tuple[int, int]]
    computed: bool
    scalars: tuple[Extent, ...] = ()

    def most(self, extent: Extent) -> int:
        """Return the greatest value of an extent, at least 1."""
        return max(1, self.range(extent.outer)[1])

    def filled(self, extent: Extent) -> bool:
        """Say whether an extent is never 0."""
        return self.range(extent.outer)[0] > 0


def elementwise(choices: Choices, sources: Sequence[BufferSource], extents: Extents) -> KernelStage:
    """Draw an expression over the sources that can be broadcast to the first."""
    first = sources[0]
    fitting = [source for source in sources if _spreads(source, first)]

    def body(axes: list[Any], _: list[Any], reads: Reads) -> ScalarTerm:
        terms = [reads.load(source, broadcast(source, first, axes)) for source in fitting]
        if extents.scalars and choices.index(2):
            scalar = extents.scalars[0]
            terms.append(ScalarTerm(scalar.inner, Bounds(1, extents.most(scalar), True), INDEX))
        return joined(choices, terms, 3)

    plain = all(_same_shape(source, first) for source in fitting)
    return KernelStage(first.extents, body, pattern=0 if plain and not extents.scalars else 1)


def broadcast(source: BufferSource, over: BufferSource, axes: Sequence[Any]) -> list[Any]:
    """Return the indices into a source whose dims are the last ones of ``over``, or 1."""
    skipped = len(axes) - len(source.extents)
    pairs = zip(source.extents, over.extents[skipped:], list(axes)[skipped:], strict=True)
    return [axis if same_dim(extent.inner, wide.inner) else 0 for extent, wide, axis in pairs]


def transpose(choices: Choices, sources: Sequence[BufferSource], extents: Extents) -> KernelStage | None:
    """Draw the axes in another order."""
    source = sources[0]
    rank = len(source.extents)
    if rank < 2:
        return None
    order = list(range(rank))
    at = choices.index(rank - 1)
    order[at], order[at + 1] = order[at + 1], order[at]
    if choices.index(2):
        order.reverse()
    back = [order.index(axis) for axis in range(rank)]
    return KernelStage(
        tuple(source.extents[axis] for axis in order),
        lambda axes, _, reads: joined(choices, [reads.load(source, [axes[axis] for axis in back])], 1),
    )


def window(choices: Choices, sources: Sequence[BufferSource], extents: Extents) -> KernelStage | None:
    """Draw a slice with start and stride, or an axis read backwards."""
    source = sources[0]
    if not source.extents:
        return None
    chosen = choices.index(len(source.extents))
    extent = source.extents[chosen]
    way = choices.index(3)
    if way and extent.is_static and extent.inner >= 2:
        start = choices.index(extent.inner)
        stride = 1 + choices.index(2)
        size = fixed((extent.inner - start + stride - 1) // stride)

        def index(axis: Any) -> Any:
            return axis * stride + start
    else:
        size = extent

        def index(axis: Any) -> Any:
            return extent.inner - 1 - axis

    shape = (*source.extents[:chosen], size, *source.extents[chosen + 1 :])

    def body(axes: list[Any], _: list[Any], reads: Reads) -> ScalarTerm:
        where = [index(axis) if at == chosen else axis for at, axis in enumerate(axes)]
        return joined(choices, [reads.load(source, where)], 1)

    return KernelStage(shape, body)


def pad(choices: Choices, sources: Sequence[BufferSource], extents: Extents) -> KernelStage | None:
    """Draw a number in front of and behind an axis."""
    source = sources[0]
    chosen = _growing(choices, source, extents)
    if chosen is None:
        return None
    extent = source.extents[chosen]
    before, behind = choices.index(3), 1 + choices.index(2)
    shape = (*source.extents[:chosen], extent.plus(fixed(before + behind)), *source.extents[chosen + 1 :])
    filler = 0 if choices.index(2) else 1

    def body(axes: list[Any], _: list[Any], reads: Reads) -> ScalarTerm:
        axis = axes[chosen]
        inside = tirx.And(axis >= before, axis < extent.inner + before) if before else axis < extent.inner
        where = [axis - before if at == chosen else other for at, other in enumerate(axes)]
        term = reads.load(source, where)
        expr = tirx.if_then_else(inside, term.expr, const(filler, source.dtype))
        return ScalarTerm(expr, source.bounds.including(filler), source.dtype)

    return KernelStage(shape, body)


def concat(choices: Choices, sources: Sequence[BufferSource], extents: Extents) -> KernelStage | None:
    """Draw a source behind another of the same shape (or itself)."""
    first = sources[0]
    second = sources[1] if len(sources) > 1 and _alike(sources[1], first) else first
    chosen = _growing(choices, first, extents)
    if chosen is None:
        return None
    extent = first.extents[chosen]
    shape = (*first.extents[:chosen], extent.plus(extent), *first.extents[chosen + 1 :])

    def body(axes: list[Any], _: list[Any], reads: Reads) -> ScalarTerm:
        behind = [axis - extent.inner if at == chosen else axis for at, axis in enumerate(axes)]
        left, right = reads.load(first, axes), reads.load(second, behind)
        expr = tirx.if_then_else(axes[chosen] < extent.inner, left.expr, right.expr)
        return ScalarTerm(expr, first.bounds.union(second.bounds), first.dtype)

    return KernelStage(shape, body)


def flatten(choices: Choices, sources: Sequence[BufferSource], extents: Extents) -> KernelStage | None:
    """Draw two neighbouring axes as one: a reshape."""
    source = sources[0]
    rank = len(source.extents)
    if rank < 2:
        return None
    at = choices.index(rank - 1)
    left, right = source.extents[at], source.extents[at + 1]
    if not (extents.computed or (left.is_static and right.is_static)) or (right.is_static and right.inner == 0):
        return None

    def body(axes: list[Any], _: list[Any], reads: Reads) -> ScalarTerm:
        both = axes[at]
        where = [*axes[:at], tirx.floordiv(both, number(right.inner)), tirx.floormod(both, number(right.inner))]
        return reads.load(source, [*where, *axes[at + 1 :]])

    return KernelStage((*source.extents[:at], left.times(right), *source.extents[at + 2 :]), body)


def repeat(choices: Choices, sources: Sequence[BufferSource], extents: Extents) -> KernelStage | None:
    """Draw a new axis in front, along which nothing changes."""
    source = sources[0]
    if len(source.extents) > 4:
        return None
    size = extents.scalars[0] if extents.scalars else fixed(1 + choices.index(MAX_GROWTH))
    return KernelStage((size, *source.extents), lambda axes, _, reads: reads.load(source, axes[1:]), pattern=1)


def mask(choices: Choices, sources: Sequence[BufferSource], extents: Extents) -> KernelStage | None:
    """Draw a triangle, or every second element, of a source; the others from the second source, or a number."""
    first = sources[0]
    rank = len(first.extents)
    if rank == 0:
        return None
    other = sources[1] if len(sources) > 1 and _alike(sources[1], first) else None

    def body(axes: list[Any], _: list[Any], reads: Reads) -> ScalarTerm:
        if extents.scalars and choices.index(2):
            inside = axes[-1] < extents.scalars[0].inner
        elif rank > 1 and not choices.index(2):
            inside = axes[-2] <= axes[-1]
        else:
            inside = tirx.EQ(tirx.floormod(axes[-1], number(2)), number(0))
        left = reads.load(first, axes)
        right = reads.load(other, axes) if other else ScalarTerm(const(0, first.dtype), Bounds(0, 0, True), first.dtype)
        lazily = choices.index(2)
        expr = (tirx.if_then_else if lazily else tirx.Select)(inside, left.expr, right.expr)
        return ScalarTerm(expr, left.bounds.union(right.bounds), first.dtype)

    return KernelStage(first.extents, body)


def iota(choices: Choices, sources: Sequence[BufferSource], extents: Extents) -> KernelStage | None:
    """Draw an index joined to each element."""
    source = sources[0]
    if not source.extents:
        return None

    def body(axes: list[Any], _: list[Any], reads: Reads) -> ScalarTerm:
        at = choices.index(len(axes))
        index = ScalarTerm(axes[at], Bounds(0, extents.most(source.extents[at]) - 1, True), INDEX)
        return joined(choices, [reads.load(source, axes), as_dtype(index, source.dtype)], 1)

    return KernelStage(source.extents, body)


def reduce(choices: Choices, sources: Sequence[BufferSource], extents: Extents) -> KernelStage | None:
    """Draw a sum, a maximum or a minimum over some axes.

    No axis that may be empty: a block initialises its result when it is first run, and it would never be.
    """
    source = sources[0]
    rank = len(source.extents)
    able = [axis for axis in range(rank - 1, -1, -1) if extents.filled(source.extents[axis])]
    if not able:
        return None
    gone = choices.subset(able)
    kept = [axis for axis in range(rank) if axis not in gone]
    kind = choices.index(3)
    limit = dtype_bounds(source.dtype)
    count = math.prod(extents.most(source.extents[axis]) for axis in gone)
    bounds = source.bounds
    clamped = kind == 0 and not (limit.lo <= bounds.lo * count and bounds.hi * count <= limit.hi)
    if clamped and 2 * count > limit.hi:
        return None
    first = (0.0, bounds.lo, bounds.hi)[kind]

    def body(axes: list[Any], more: list[Any], reads: Reads) -> ScalarTerm:
        where: list[Any] = [None] * rank
        for axis, variable in zip([*kept, *gone], [*axes, *more], strict=True):
            where[axis] = variable
        term = reads.load(source, where)
        if kind:
            return ScalarTerm(term.expr, term.bounds.rounded() if is_float(term.dtype) else term.bounds, term.dtype)
        term = small(term) if clamped else term
        wide = term.bounds.up_to(count)
        return ScalarTerm(term.expr, wide.rounded() if is_float(source.dtype) else wide, term.dtype)

    step = (lambda a, b: a + b, tirx.max, tirx.min)[kind]
    reduction = BlockReduction(tuple(source.extents[axis] for axis in gone), const(first, source.dtype), step)
    return KernelStage(tuple(source.extents[axis] for axis in kept), body, reduction, 3)


def gram(choices: Choices, sources: Sequence[BufferSource], extents: Extents) -> KernelStage | None:
    """Draw a matrix times its own transpose."""
    source = sources[0]
    if len(source.extents) != 2:
        return None
    rows, inner = source.extents
    count = extents.most(inner)
    if 4 * count > dtype_bounds(source.dtype).hi or not extents.filled(inner):
        return None

    def body(axes: list[Any], more: list[Any], reads: Reads) -> ScalarTerm:
        left = small(reads.load(source, [axes[0], more[0]]))
        right = small(reads.load(source, [axes[1], more[0]]))
        wide = (left.bounds * right.bounds).up_to(count)
        return ScalarTerm(left.expr * right.expr, wide.rounded() if is_float(source.dtype) else wide, source.dtype)

    reduction = BlockReduction((inner,), const(0, source.dtype), lambda a, b: a + b)
    return KernelStage((rows, rows), body, reduction, 4)


STAGES: tuple[Draw, ...] = (
    elementwise, elementwise, transpose, reduce, window, pad, flatten, mask, concat, repeat, iota, gram,
)  # fmt: skip


def _growing(choices: Choices, source: BufferSource, extents: Extents) -> int | None:
    able = [at for at, extent in enumerate(source.extents) if extent.is_static or extents.computed]
    return choices.pick(able) if able else None


def _spreads(source: BufferSource, over: BufferSource) -> bool:
    """Say whether a source can be broadcast to another."""
    skipped = len(over.extents) - len(source.extents)
    pairs = zip(source.extents, over.extents[max(0, skipped) :], strict=False)
    return skipped >= 0 and all(same_dim(a.inner, b.inner) or same_dim(a.inner, 1) for a, b in pairs)


def _alike(left: BufferSource, right: BufferSource) -> bool:
    return left.dtype == right.dtype and _same_shape(left, right)


def _same_shape(left: BufferSource, right: BufferSource) -> bool:
    return same_dims([extent.inner for extent in left.extents], [extent.inner for extent in right.extents])


def combine(choices: Choices, kernel: KernelBuilder, sources: Sequence[BufferSource], overwrite: bool) -> BufferSource:
    """Write an expression over all sources, element by element, over the first of them or into a new output."""
    variables, reads = axes(sources[0].extents), Reads()
    term = joined(choices, [reads.load(source, variables) for source in sources], 2)
    if overwrite:
        target = BufferSource(sources[0].buffer, sources[0].extents, term.bounds, term.dtype)
    else:
        target = kernel.output(sources[0].extents, term.bounds, term.dtype)
    kernel.store(target, term, variables, (), reads, Nest())
    return target
