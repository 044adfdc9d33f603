"""Reductions over axes, and searches by reduction.

No extent that may be 0 is reduced but by sums and products: the mean of nothing is NaN, its maximum the least value of
the dtype, and its argmax undefined. Extents that are kept may be 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tvm import relax

from strategies.operators.drawing import (
    ANY_FLOATS,
    ANY_NUMBERS,
    FLOATS,
    NUMBERS,
    SIGNED,
    SOME_RANK,
    UNSIGNED,
    WIDE_FLOATS,
    calm,
)
from strategies.operators.intervals import BoundedCall, Unproven
from strategies.operators.row import OperatorFamily, OperatorRow, Rows
from strategies.scope.bounds import FLOAT8, LOW_PRECISION, Bounds, holds
from strategies.scope.scope import Scope, Value

ROWS = Rows(OperatorFamily.REDUCE)

op = relax.op


# TVM defect: bfloat16 and float8 are sorted as other numbers are that have as many bits, and silently come out in a
# wrong order.
SORTABLE = (*FLOATS, "int64", "int32")
"""What the runtime's CPU sort takes ("Unsupported input dtype" for the other integers)."""

FEW = {"bfloat16": 64, "float8_e4m3fn": 8, "float8_e5m2": 8}
"""How many elements of low precision are reduced at most: each step of the reduction rounds to that dtype."""


def _ranks(scope: Scope) -> tuple[int, ...]:
    """Return ranks, 0 only where nothing runs (TVM defects): argmax has no kernel for it, median another shape."""
    return SOME_RANK if scope.executable else (*SOME_RANK, 0)


def _filled(scope: Scope, value: Value) -> list[int]:
    """Return axes that are never empty."""
    return [place for place, dim in enumerate(value.shape) if scope.dim_range(dim)[0] > 0]


def _reducible(scope: Scope, value: Value) -> bool:
    """Say whether a value is a scalar, or has a dim that is never empty."""
    return value.rank == 0 or bool(_filled(scope, value))


def _drawn_axes(scope: Scope, value: Value, empty: bool) -> list[int] | None:
    """Return axes to reduce, ``None`` for all of them; ``empty``: also such as may have no elements."""
    dims = value.shape
    able = list(range(len(dims))) if empty else _filled(scope, value)
    if not dims or (len(able) == len(dims) and scope.index(4) == 3):
        return None
    return scope.axes(len(dims), able)


def _count(scope: Scope, value: Value, chosen: list[int] | None) -> int:
    dims = value.shape
    return scope.most_elements(dims if chosen is None else [dims[index] for index in chosen])


def _same(bounds: Bounds, elements: int) -> Bounds:
    return bounds


def _variance(bounds: Bounds, elements: int) -> Bounds:
    """Return at most a quarter of the squared width; the whole of it leaves room for rounding."""
    return Bounds(0.0, (bounds.hi - bounds.lo) ** 2)


@dataclass(frozen=True, slots=True)
class ReductionOperator:
    """A reduction over any set of axes; ``result`` gives bounds from the operand's and the number of elements.

    ``more`` are dtypes that type inference takes but that do not run: drawn only in modules that need not.
    ``empty`` says whether what is reduced may have no elements, ``known`` whether a float8 tensor must be of
    static shape.
    """

    name: str
    call: Callable[..., Any]
    dtypes: tuple[str, ...]
    result: Callable[[Bounds, int], Bounds]
    more: tuple[str, ...] = ()
    empty: bool = False
    known: bool = False

    def draw(self, scope: Scope) -> Value | None:
        """Draw an operand, its axes (none given: all) and ``keepdims``."""
        dtypes = self.dtypes if scope.executable else self.dtypes + self.more
        operand = scope.tensor(dtypes=dtypes, where=lambda v: self._takes(v) and (self.empty or _reducible(scope, v)))
        dtype = operand.dtype
        chosen = _drawn_axes(scope, operand, self.empty)
        if dtype in FEW and _count(scope, operand, chosen) > FEW[dtype]:
            chosen = [min(_filled(scope, operand), key=lambda place: _count(scope, operand, [place]), default=0)]
            if _count(scope, operand, chosen) > FEW[dtype]:
                return None
        elements = _count(scope, operand, chosen)
        (operand,) = calm(scope, lambda known: self.result(known, elements), operand)
        known = self.result(operand.read_bounds, elements)
        if not holds(dtype, known):
            return None  # too many elements for the dtype: int8 holds 42 threes
        call = self.call(operand.expr, axis=chosen, keepdims=scope.flip())
        return scope.emit_rounded(call, known, dtype, steps=elements + 4)

    def _takes(self, value: Value) -> bool:
        return not self.known or value.is_static or value.dtype not in FLOAT8

    def row(self) -> OperatorRow:
        """Return the row of the operator table."""
        return OperatorRow(f"relax.{self.name}", OperatorFamily.REDUCE, self.draw, bounds=self._bounds)

    def _bounds(self, call: BoundedCall) -> Bounds:
        """Bound a call that was not drawn."""
        if not self.empty and call.least(call.reduced()) < 1:
            raise Unproven("a reduction of what may be empty")
        return self.result(call[0], call.most(call.reduced()))


# TVM defects: the mean of integers is legalized to another dtype than inferred (so are deviation and variance), and
# there is no least boolean ("Cannot decide min_value for type bool").
_INTEGERS = SIGNED + UNSIGNED

REDUCTIONS = (
    ReductionOperator(
        "sum", op.sum, ANY_NUMBERS, lambda bounds, elements: bounds.up_to(elements).union(bounds), empty=True
    ),
    ReductionOperator("mean", op.mean, ANY_FLOATS, lambda bounds, elements: Bounds(bounds.lo, bounds.hi), _INTEGERS),
    ReductionOperator("max", op.max, ANY_NUMBERS, _same, ("bool",)),
    ReductionOperator("min", op.min, ANY_NUMBERS, _same, ("bool",)),
    # A deviation is a root of a small difference: float16 and less have too few digits for it to be comparable.
    ReductionOperator(
        "std",
        op.std,
        WIDE_FLOATS,
        lambda bounds, elements: Bounds(0.0, bounds.hi - bounds.lo),
        (*_INTEGERS, *LOW_PRECISION),
    ),
    # TVM defect: with a symbolic extent, the mean is bound to a variable, whose type changes less than its value
    # ("StructuralEqual()(value->ty, var->ty)").
    ReductionOperator("variance", op.variance, ANY_FLOATS, _variance, _INTEGERS, known=True),
)


ROWS += [reduction.row() for reduction in REDUCTIONS]


@ROWS.row("prod")
def draw_prod(scope: Scope) -> Value | None:
    """Draw ``prod``: factors of magnitude at most 2, over at most 6 of them, so that the product stays below 100."""
    operand = scope.tensor(dtypes=(*ANY_NUMBERS, "bool"))
    chosen = _drawn_axes(scope, operand, empty=True)
    if _count(scope, operand, chosen) > 6:
        chosen = [min(range(operand.rank), key=lambda place: _count(scope, operand, [place]))]
        if _count(scope, operand, chosen) > 6:
            return None
    keepdims = scope.flip()
    if operand.dtype == "bool":
        return scope.emit(op.prod(operand.expr, axis=chosen, keepdims=keepdims), Bounds(0, 1, True))
    operand = scope.keep(operand, 0 if operand.dtype.startswith("uint") else -2, 2)
    size = 2.0 ** max(_count(scope, operand, chosen), 1)
    call = op.prod(operand.expr, axis=chosen, keepdims=keepdims)
    return scope.emit_rounded(call, Bounds(-size if operand.read_bounds.lo < 0 else 0, size), operand.dtype, steps=10)


@ROWS.row("median")
def draw_median(scope: Scope) -> Value | None:
    """Draw ``median`` of what ``sort`` takes: over one axis values and indices, over all of them values alone."""
    operand = scope.tensor(dtypes=SORTABLE, where=partial(_reducible, scope), ranks=_ranks(scope))
    known = operand.read_bounds
    dims = operand.shape
    if not dims or (scope.nonempty(operand) and scope.flip()):
        # TVM defect: the legalized median of all elements forgets keepdims: only where nothing runs.
        keepdims = not scope.executable and scope.flip()
        return scope.emit(op.median(operand.expr, axis=None, keepdims=keepdims), known)
    (chosen,) = scope.axes(len(dims), [scope.pick(_filled(scope, operand))])
    whole = scope.emit(op.median(operand.expr, axis=chosen, keepdims=scope.flip()), None)
    # Which of several equal elements the index names is up to the sort, so only the value is used.
    return scope.emit(relax.TupleGetItem(whole.expr, 0), known)


def _draw_search(scope: Scope, call: Callable[..., Any]) -> Value:
    # TVM defect: of low precision, the pair of index and value changes its type in part only
    # ("StructuralEqual()(value->ty, var->ty)"); of booleans there is no least one to begin with.
    dtypes = NUMBERS if scope.executable else (*ANY_NUMBERS, "bool")
    operand = scope.tensor(dtypes=dtypes, where=partial(_reducible, scope), ranks=_ranks(scope))
    dims = operand.shape
    able = _filled(scope, operand)
    if not dims or (len(able) == len(dims) and scope.index(4) == 3):
        chosen = None
    else:
        (chosen,) = scope.axes(len(dims), [scope.pick(able)])
    elements = _count(scope, operand, None if chosen is None else [chosen])
    # TVM defect: argmax begins with the least value of the dtype and index -1, and answers -1 where nothing is
    # greater: for unsigned zeros. So that index is out of bounds, and guarded where it matters.
    bounds = Bounds(-1 if operand.dtype in UNSIGNED else 0, max(elements - 1, 0), True)
    return scope.emit_rounded(call(operand.expr, axis=chosen, keepdims=scope.flip()), bounds, "int64")


ROWS.row("argmax", OperatorFamily.SEARCH)(partial(_draw_search, call=op.argmax))
ROWS.row("argmin", OperatorFamily.SEARCH)(partial(_draw_search, call=op.argmin))
