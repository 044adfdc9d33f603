"""Reductions over axes, and searches by reduction.

Extents that may be 0 are refused: the mean of nothing is NaN, its maximum the least value of the dtype, and its argmax
undefined.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tvm import relax

from strategies.bounds import Bounds, default_bounds, dtype_bounds
from strategies.operators.drawing import (
    FLOATS,
    NUMBERS,
    SIGNED,
    SIGNED_NUMBERS,
    WIDE_FLOATS,
    axes,
    axis,
    bounds_of,
    emit,
    flip,
    keep,
    nonempty,
    shape_of,
)
from strategies.operators.row import Family, OperatorRow

if TYPE_CHECKING:
    from strategies.scope import Scope, Value

op = relax.op


def _ranks(scope: Scope) -> tuple[int, ...]:
    """Rank 0 only where nothing runs: argmax and argmin have no kernel for it, and median's has another shape."""
    return (1, 2, 3, 4) if scope.executable else (1, 2, 3, 4, 0)


def _mean(bounds: Bounds, elements: int) -> Bounds:
    return Bounds(bounds.lo, bounds.hi)


def _same(bounds: Bounds, elements: int) -> Bounds:
    return bounds


def _sum(bounds: Bounds, elements: int) -> Bounds:
    return bounds.summed(elements).union(bounds)


def _deviation(bounds: Bounds, elements: int) -> Bounds:
    return Bounds(0.0, bounds.hi - bounds.lo)


def _variance(bounds: Bounds, elements: int) -> Bounds:
    """At most a quarter of the squared width; the whole of it leaves room for rounding."""
    return Bounds(0.0, (bounds.hi - bounds.lo) ** 2)


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduction over any set of axes; ``result`` gives bounds from the operand's and the number of elements.

    ``more`` are dtypes that type inference takes but whose legalization yields another dtype than inferred: drawn only
    in modules that need not run.
    """

    name: str
    call: Callable[..., Any]
    dtypes: tuple[str, ...]
    result: Callable[[Bounds, int], Bounds]
    more: tuple[str, ...] = ()

    def draw(self, scope: Scope) -> Value | None:
        """Draw an operand, its axes (none given: all) and ``keepdims``."""
        dtypes = self.dtypes if scope.executable else self.dtypes + self.more
        operand = scope.tensor(dtypes=dtypes, where=nonempty(scope))
        dims = shape_of(operand)
        chosen = None if not dims or scope.integer(0, 3) == 3 else axes(scope, len(dims))
        elements = scope.most_elements(dims if chosen is None else [dims[index] for index in chosen])
        limit, domain = dtype_bounds(operand.dtype), default_bounds(operand.dtype)
        known = self.result(bounds_of(operand), elements)
        if known.lo < limit.lo or known.hi > limit.hi:
            operand = keep(scope, operand, domain.lo, domain.hi)
            known = self.result(bounds_of(operand), elements)
            if known.lo < limit.lo or known.hi > limit.hi:
                return None  # too many elements for the dtype: int8 holds 42 threes
        call = self.call(operand.expr, axis=chosen, keepdims=flip(scope))
        return emit(scope, call, known, operand.dtype)

    def row(self) -> OperatorRow:
        """The row of the operator table."""
        return OperatorRow(f"relax.{self.name}", Family.REDUCE, self.draw)


REDUCTIONS = (
    Reduction("sum", op.sum, NUMBERS, _sum),
    Reduction("mean", op.mean, FLOATS, _mean, SIGNED),
    Reduction("max", op.max, NUMBERS, _same),
    Reduction("min", op.min, NUMBERS, _same),
    # A deviation is a root of a small difference: float16 has too few digits for it to be comparable.
    Reduction("std", op.std, WIDE_FLOATS, _deviation, SIGNED),
    Reduction("variance", op.variance, FLOATS, _variance, SIGNED),
)


def draw_prod(scope: Scope) -> Value | None:
    """``prod``: factors of magnitude at most 2, over at most 6 of them, so that the product stays below 100."""
    operand = scope.tensor(dtypes=NUMBERS, where=nonempty(scope), ranks=_ranks(scope))
    dims = shape_of(operand)
    chosen = None if not dims else axes(scope, len(dims))
    elements = scope.most_elements(dims if chosen is None else [dims[index] for index in chosen])
    if elements > 6:
        chosen = chosen[:1] if chosen else None
        elements = scope.most_elements(dims if chosen is None else [dims[index] for index in chosen])
        if elements > 6:
            return None
    operand = keep(scope, operand, 0 if operand.dtype.startswith("uint") else -2, 2)
    size = 2.0**elements
    call = op.prod(operand.expr, axis=chosen, keepdims=flip(scope))
    return emit(scope, call, Bounds(-size if bounds_of(operand).lo < 0 else 0, size), operand.dtype)


def draw_median(scope: Scope) -> Value | None:
    """``median``: over one axis it gives values and indices, over all axes values alone; sorts 64-bit and floats."""
    operand = scope.tensor(dtypes=(*WIDE_FLOATS, "int64", "int32"), where=nonempty(scope), ranks=_ranks(scope))
    known = bounds_of(operand)
    dims = shape_of(operand)
    if not dims or flip(scope):
        # The legalized median of all elements forgets keepdims: only where nothing runs.
        keepdims = not scope.executable and flip(scope)
        return scope.emit(op.median(operand.expr, axis=None, keepdims=keepdims), known)
    call = op.median(operand.expr, axis=axis(scope, len(dims)), keepdims=flip(scope))
    whole = scope.emit(call, None)
    # Which of several equal elements the index names is up to the sort, so only the value is used.
    return scope.emit(relax.TupleGetItem(whole.expr, 0), known)


def _draw_search(call: Callable[..., Any]) -> Callable[[Scope], Value | None]:
    def draw(scope: Scope) -> Value | None:
        # TVM's argmax starts from the least value of the dtype with index -1, and answers -1 where nothing is greater:
        # for unsigned zeros. An index that is out of range must not reach what runs.
        dtypes = SIGNED_NUMBERS if scope.executable else NUMBERS
        operand = scope.tensor(dtypes=dtypes, where=nonempty(scope), ranks=_ranks(scope))
        dims = shape_of(operand)
        chosen = None if not dims or scope.integer(0, 3) == 3 else axis(scope, len(dims))
        elements = scope.most_elements(dims if chosen is None else [dims[chosen]])
        bounds = Bounds(0, max(elements - 1, 0), True)
        return emit(scope, call(operand.expr, axis=chosen, keepdims=flip(scope)), bounds, "int64")

    return draw


ROWS = (
    *(reduction.row() for reduction in REDUCTIONS),
    OperatorRow("relax.prod", Family.REDUCE, draw_prod),
    OperatorRow("relax.median", Family.REDUCE, draw_median),
    OperatorRow("relax.argmax", Family.SEARCH, _draw_search(op.argmax)),
    OperatorRow("relax.argmin", Family.SEARCH, _draw_search(op.argmin)),
)
