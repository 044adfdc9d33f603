"""Sums of products: their operands guarded so that the sum stays within its dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategies.bounds import Bounds, default_bounds, dtype_bounds
from strategies.operators.drawing import bounds_of, keep

if TYPE_CHECKING:
    from strategies.scope import Scope, Value


def product_sum(scope: Scope, left: Value, right: Value, terms: int, dtype: str) -> tuple[Value, Value, Bounds] | None:
    """Guard two operands so that a sum of ``terms`` products stays within ``dtype``; ``None`` when it cannot.

    The operands are cast to the dtype of the sum before they are multiplied, so they lie within it as well.
    """
    limit = dtype_bounds(dtype)
    for attempt in range(2):
        known = (bounds_of(left) * bounds_of(right)).up_to(max(terms, 1))
        inside = limit.lo <= known.lo and known.hi <= limit.hi
        if inside and all(limit.lo <= bounds_of(v).lo and bounds_of(v).hi <= limit.hi for v in (left, right)):
            return left, right, known
        if attempt == 0:
            left = _tamed(scope, left, limit)
            right = _tamed(scope, right, limit)
    return None


def _tamed(scope: Scope, value: Value, limit: Bounds) -> Value:
    domain = default_bounds(value.dtype)
    return keep(scope, value, max(domain.lo, limit.lo), min(domain.hi, limit.hi))
