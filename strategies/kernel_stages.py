"""Stages of drawn kernels: what one block does with a buffer, from element-wise work to reductions.

A stage reads only what is there: an index that could leave its buffer stands behind ``T.if_then_else``, whose branches
are evaluated only when they are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import tirx

from strategies.bounds import Bounds, dtype_bounds, is_float
from strategies.choices import Choices
from strategies.kernel_builder import INDEX, Body, Extent, Reads, Reduction, Source, Term, fixed
from strategies.kernel_terms import as_dtype, const, joined, small
from strategies.values import same_dim, same_dims

MAX_GROWTH = 4
"""What a stage adds to a dim, or the dim that it adds, is at most this."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One block to be.

    Attributes:
        extents: Shape of what it writes.
        body: The value of one element.
        reduction: How it reduces, if it does.
        pattern: What ``AnnotateTIROpPattern`` would call it at the least: 0 element-wise, 1 broadcast, 2 injective, 3
            reduction, 8 opaque.
    """

    extents: tuple[Extent, ...]
    body: Body
    reduction: Reduction | None = None
    pattern: int = 2


Draw = Callable[[Choices, Sequence[Source], "Extents"], "Stage | None"]
"""Draws a stage over sources of which the first counts most; ``None`` where it does not fit."""


@dataclass(frozen=True, slots=True)
class Extents:
    """What a stage may know of dims.

    Attributes:
        range: The least and the greatest value that a dim takes.
        computed: Whether dims may be computed from symbols.
        scalars: Numbers that the caller gives as parameters, at least 1.
    """

    range: Callable[[Any], tuple[int, int]]
    computed: bool
    scalars: tuple[Extent, ...] = ()

    def most(self, extent: Extent) -> int:
        """The greatest value of an extent, at least 1."""
        return max(1, self.range(extent.outer)[1])

    def filled(self, extent: Extent) -> bool:
        """Whether an extent is never 0."""
        return self.range(extent.outer)[0] > 0


def elementwise(choices: Choices, sources: Sequence[Source], extents: Extents) -> Stage:
    """An expression over the sources that can be broadcast to the first."""
    first = sources[0]
    fitting = [source for source in sources if _spreads(source, first)]

    def body(axes: list[Any], _: list[Any], reads: Reads) -> Term:
        terms = [reads.load(source, broadcast(source, first, axes)) for source in fitting]
        if extents.scalars and choices.index(2):
            number = extents.scalars[0]
            terms.append(Term(number.inner, Bounds(1, extents.most(number), True), INDEX))
        return joined(choices, terms, 3)

    plain = all(_same_shape(source, first) for source in fitting)
    return Stage(first.extents, body, pattern=0 if plain and not extents.scalars else 1)


def broadcast(source: Source, over: Source, axes: Sequence[Any]) -> list[Any]:
    """The indices into a source whose dims are the last ones of ``over``, or 1."""
    skipped = len(axes) - len(source.extents)
    pairs = zip(source.extents, over.extents[skipped:], list(axes)[skipped:], strict=True)
    return [axis if same_dim(extent.inner, wide.inner) else 0 for extent, wide, axis in pairs]


def transpose(choices: Choices, sources: Sequence[Source], extents: Extents) -> Stage | None:
    """The axes in another order."""
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
    return Stage(
        tuple(source.extents[axis] for axis in order),
        lambda axes, _, reads: joined(choices, [reads.load(source, [axes[axis] for axis in back])], 1),
    )


def window(choices: Choices, sources: Sequence[Source], extents: Extents) -> Stage | None:
    """A slice with start and stride, or an axis read backwards."""
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
            return _last(extent) - axis

    shape = (*source.extents[:chosen], size, *source.extents[chosen + 1 :])

    def body(axes: list[Any], _: list[Any], reads: Reads) -> Term:
        where = [index(axis) if at == chosen else axis for at, axis in enumerate(axes)]
        return joined(choices, [reads.load(source, where)], 1)

    return Stage(shape, body)


def _last(extent: Extent) -> Any:
    return extent.inner - 1


def pad(choices: Choices, sources: Sequence[Source], extents: Extents) -> Stage | None:
    """A number in front of and behind an axis."""
    source = sources[0]
    chosen = _growing(choices, source, extents)
    if chosen is None:
        return None
    extent = source.extents[chosen]
    before, behind = choices.index(3), 1 + choices.index(2)
    shape = (*source.extents[:chosen], extent.plus(fixed(before + behind)), *source.extents[chosen + 1 :])
    number = 0 if choices.index(2) else 1

    def body(axes: list[Any], _: list[Any], reads: Reads) -> Term:
        axis = axes[chosen]
        inside = tirx.And(axis >= before, axis < extent.inner + before) if before else axis < extent.inner
        where = [axis - before if at == chosen else other for at, other in enumerate(axes)]
        term = reads.load(source, where)
        expr = tirx.if_then_else(inside, term.expr, const(number, source.dtype))
        return Term(expr, source.bounds.including(number), source.dtype)

    return Stage(shape, body)


def concat(choices: Choices, sources: Sequence[Source], extents: Extents) -> Stage | None:
    """A source behind another of the same shape (or itself)."""
    first = sources[0]
    second = sources[1] if len(sources) > 1 and _alike(sources[1], first) else first
    chosen = _growing(choices, first, extents)
    if chosen is None:
        return None
    extent = first.extents[chosen]
    shape = (*first.extents[:chosen], extent.plus(extent), *first.extents[chosen + 1 :])

    def body(axes: list[Any], _: list[Any], reads: Reads) -> Term:
        behind = [axis - extent.inner if at == chosen else axis for at, axis in enumerate(axes)]
        left, right = reads.load(first, axes), reads.load(second, behind)
        expr = tirx.if_then_else(axes[chosen] < extent.inner, left.expr, right.expr)
        return Term(expr, first.bounds.union(second.bounds), first.dtype)

    return Stage(shape, body)


def flatten(choices: Choices, sources: Sequence[Source], extents: Extents) -> Stage | None:
    """Two neighbouring axes as one: a reshape."""
    source = sources[0]
    rank = len(source.extents)
    if rank < 2:
        return None
    at = choices.index(rank - 1)
    left, right = source.extents[at], source.extents[at + 1]
    if not (extents.computed or (left.is_static and right.is_static)) or (right.is_static and right.inner == 0):
        return None

    def body(axes: list[Any], _: list[Any], reads: Reads) -> Term:
        both = axes[at]
        where = [*axes[:at], tirx.floordiv(both, _number(right.inner)), tirx.floormod(both, _number(right.inner))]
        return reads.load(source, [*where, *axes[at + 1 :]])

    return Stage((*source.extents[:at], left.times(right), *source.extents[at + 2 :]), body)


def repeat(choices: Choices, sources: Sequence[Source], extents: Extents) -> Stage | None:
    """A new axis in front, along which nothing changes."""
    source = sources[0]
    if len(source.extents) > 4:
        return None
    size = extents.scalars[0] if extents.scalars else fixed(1 + choices.index(MAX_GROWTH))
    return Stage((size, *source.extents), lambda axes, _, reads: reads.load(source, axes[1:]), pattern=1)


def mask(choices: Choices, sources: Sequence[Source], extents: Extents) -> Stage | None:
    """A triangle, or every second element, of a source; the others from the second source, or a number."""
    first = sources[0]
    rank = len(first.extents)
    if rank == 0:
        return None
    other = sources[1] if len(sources) > 1 and _alike(sources[1], first) else None

    def body(axes: list[Any], _: list[Any], reads: Reads) -> Term:
        if extents.scalars and choices.index(2):
            inside = axes[-1] < extents.scalars[0].inner
        elif rank > 1 and not choices.index(2):
            inside = axes[-2] <= axes[-1]
        else:
            inside = tirx.EQ(tirx.floormod(axes[-1], _number(2)), _number(0))
        left = reads.load(first, axes)
        right = reads.load(other, axes) if other else Term(const(0, first.dtype), Bounds(0, 0, True), first.dtype)
        lazily = choices.index(2)
        expr = (tirx.if_then_else if lazily else tirx.Select)(inside, left.expr, right.expr)
        return Term(expr, left.bounds.union(right.bounds), first.dtype)

    return Stage(first.extents, body)


def iota(choices: Choices, sources: Sequence[Source], extents: Extents) -> Stage | None:
    """An index joined to each element."""
    source = sources[0]
    if not source.extents:
        return None

    def body(axes: list[Any], _: list[Any], reads: Reads) -> Term:
        at = choices.index(len(axes))
        index = Term(axes[at], Bounds(0, extents.most(source.extents[at]) - 1, True), INDEX)
        return joined(choices, [reads.load(source, axes), as_dtype(index, source.dtype)], 1)

    return Stage(source.extents, body)


def reduce(choices: Choices, sources: Sequence[Source], extents: Extents) -> Stage | None:
    """A sum, a maximum or a minimum over some axes.

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
    count = 1
    for axis in gone:
        count *= extents.most(source.extents[axis])
    bounds = source.bounds
    clamped = kind == 0 and not (limit.lo <= bounds.lo * count and bounds.hi * count <= limit.hi)
    if clamped and 2 * count > limit.hi:
        return None
    first = (0.0, bounds.lo, bounds.hi)[kind]

    def body(axes: list[Any], more: list[Any], reads: Reads) -> Term:
        where: list[Any] = [None] * rank
        for axis, variable in zip([*kept, *gone], [*axes, *more], strict=True):
            where[axis] = variable
        term = reads.load(source, where)
        if kind:
            return Term(term.expr, term.bounds.rounded() if is_float(term.dtype) else term.bounds, term.dtype)
        term = small(term) if clamped else term
        wide = term.bounds.up_to(count)
        return Term(term.expr, wide.rounded() if is_float(source.dtype) else wide, term.dtype)

    step = (lambda a, b: a + b, tirx.max, tirx.min)[kind]
    reduction = Reduction(tuple(source.extents[axis] for axis in gone), const(first, source.dtype), step)
    return Stage(tuple(source.extents[axis] for axis in kept), body, reduction, 3)


def gram(choices: Choices, sources: Sequence[Source], extents: Extents) -> Stage | None:
    """A matrix times its own transpose."""
    source = sources[0]
    if len(source.extents) != 2:
        return None
    rows, inner = source.extents
    count = extents.most(inner)
    if 4 * count > dtype_bounds(source.dtype).hi or not extents.filled(inner):
        return None

    def body(axes: list[Any], more: list[Any], reads: Reads) -> Term:
        left = small(reads.load(source, [axes[0], more[0]]))
        right = small(reads.load(source, [axes[1], more[0]]))
        wide = (left.bounds * right.bounds).up_to(count)
        return Term(left.expr * right.expr, wide.rounded() if is_float(source.dtype) else wide, source.dtype)

    reduction = Reduction((inner,), const(0, source.dtype), lambda a, b: a + b)
    return Stage((rows, rows), body, reduction, 4)


STAGES: tuple[Draw, ...] = (
    elementwise, elementwise, transpose, reduce, window, pad, flatten, mask, concat, repeat, iota, gram,
)  # fmt: skip


def _growing(choices: Choices, source: Source, extents: Extents) -> int | None:
    able = [at for at, extent in enumerate(source.extents) if extent.is_static or extents.computed]
    return choices.pick(able) if able else None


def _spreads(source: Source, over: Source) -> bool:
    """Whether a source can be broadcast to another."""
    skipped = len(over.extents) - len(source.extents)
    pairs = zip(source.extents, over.extents[max(0, skipped) :], strict=False)
    return skipped >= 0 and all(same_dim(a.inner, b.inner) or same_dim(a.inner, 1) for a, b in pairs)


def _alike(left: Source, right: Source) -> bool:
    return left.dtype == right.dtype and _same_shape(left, right)


def _same_shape(left: Source, right: Source) -> bool:
    return same_dims([extent.inner for extent in left.extents], [extent.inner for extent in right.extents])


def _number(size: Any) -> Any:
    return tirx.IntImm(INDEX, size) if isinstance(size, int) else size
