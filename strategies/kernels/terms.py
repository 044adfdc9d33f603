"""Scalar expressions of drawn kernels: operators whose domain is kept by clamping their operands.

Nothing here divides by what may be zero, leaves the range of its dtype, or compares floats: such a comparison would
turn a rounding error into a jump.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import tirx

from strategies.kernels.builder import ScalarTerm
from strategies.scope.bounds import Bounds, holds, is_float
from strategies.scope.choices import Choices

Combine = Callable[[Any, Any], Any]


class Takes(enum.Enum):
    """Dtypes that an operator takes."""

    ANY = "any"
    FLOAT = "float"
    INTEGER = "integer"
    SIGNED = "signed"


@dataclass(frozen=True, slots=True)
class ScalarBinary:
    """An operator of two operands, with what it makes of their bounds."""

    combine: Combine
    bounds: Callable[[Bounds, Bounds], Bounds]
    signed: bool = False


@dataclass(frozen=True, slots=True)
class ScalarUnary:
    """An operator of one operand, with what it makes of its bounds; ``apply`` is given the dtype, too."""

    apply: Callable[[Any, str], Any]
    bounds: Callable[[Bounds], Bounds]
    takes: Takes = Takes.ANY


def const(number: float, dtype: str) -> Any:
    """Return a number of a dtype."""
    return tirx.const(number if is_float(dtype) else int(number), dtype)


_UNIT = Bounds(1, 1, True)

BINARY: tuple[ScalarBinary, ...] = (
    ScalarBinary(lambda a, b: a + b, lambda a, b: a + b),
    ScalarBinary(lambda a, b: a * b, lambda a, b: a * b),
    ScalarBinary(lambda a, b: a - b, lambda a, b: a - b, signed=True),
    ScalarBinary(tirx.max, lambda a, b: a.maximum(b)),
    ScalarBinary(tirx.min, lambda a, b: a.minimum(b)),
)

UNARY: tuple[ScalarUnary, ...] = (
    ScalarUnary(lambda x, dtype: x + const(1, dtype), lambda b: b + _UNIT),
    ScalarUnary(lambda x, dtype: x * const(2, dtype), lambda b: b.scaled(2)),
    ScalarUnary(lambda x, dtype: tirx.max(x, const(0, dtype)), lambda b: b.maximum(Bounds(0, 0, True))),
    ScalarUnary(lambda x, dtype: tirx.abs(x), lambda b: b.absolute(), Takes.SIGNED),
    ScalarUnary(lambda x, dtype: const(0, dtype) - x, lambda b: -b, Takes.SIGNED),
    ScalarUnary(lambda x, dtype: x * const(0.5, dtype), lambda b: b.scaled(0.5), Takes.FLOAT),
    ScalarUnary(lambda x, dtype: tirx.exp(tirx.min(x, const(2, dtype))), lambda b: Bounds(0.0, 7.5), Takes.FLOAT),
    ScalarUnary(lambda x, dtype: tirx.tanh(x), lambda b: Bounds(-1.0, 1.0), Takes.FLOAT),
    ScalarUnary(lambda x, dtype: tirx.sqrt(tirx.abs(x)), lambda b: Bounds(0.0, max(1.0, b.magnitude)), Takes.FLOAT),
    ScalarUnary(
        lambda x, dtype: const(1, dtype) / (const(1, dtype) + tirx.abs(x)), lambda b: Bounds(0.0, 1.0), Takes.FLOAT
    ),
    ScalarUnary(
        lambda x, dtype: tirx.floordiv(x, const(2, dtype)), lambda b: Bounds(b.lo // 2, b.hi // 2, True), Takes.INTEGER
    ),
    ScalarUnary(lambda x, dtype: tirx.floormod(x, const(3, dtype)), lambda b: Bounds(0, 2, True), Takes.INTEGER),
)


def combined(choices: Choices, left: ScalarTerm, right: ScalarTerm) -> ScalarTerm:
    """Return two terms of one dtype joined by a drawn operator."""
    unsigned = left.dtype.startswith("uint")
    options = [entry for entry in BINARY if not (unsigned and entry.signed)]
    entry = choices.pick(options)
    if not holds(left.dtype, entry.bounds(left.bounds, right.bounds)):
        left, right = small(left), small(right)
    return _made(entry.combine(left.expr, right.expr), entry.bounds(left.bounds, right.bounds), left.dtype)


def modified(choices: Choices, term: ScalarTerm) -> ScalarTerm:
    """Return a term under a drawn operator."""
    kinds = {Takes.ANY, Takes.FLOAT if is_float(term.dtype) else Takes.INTEGER}
    if not term.dtype.startswith("uint"):
        kinds.add(Takes.SIGNED)
    entry = choices.pick([entry for entry in UNARY if entry.takes in kinds])
    if not holds(term.dtype, entry.bounds(term.bounds)):
        term = small(term)
    return _made(entry.apply(term.expr, term.dtype), entry.bounds(term.bounds), term.dtype)


def joined(choices: Choices, terms: Sequence[ScalarTerm], more: int) -> ScalarTerm:
    """Return all terms in one expression, with up to ``more`` operators of one operand on the way."""
    result = terms[0]
    for term in terms[1:]:
        result = combined(choices, result, as_dtype(term, result.dtype))
    for _ in range(choices.index(more + 1)):
        result = modified(choices, result)
    return result


def as_dtype(term: ScalarTerm, dtype: str) -> ScalarTerm:
    """Return the term in another dtype; a float becomes an integer through nothing, and counts as one."""
    if term.dtype == dtype:
        return term
    if is_float(term.dtype) and not is_float(dtype):
        return ScalarTerm(const(1, dtype), _UNIT, dtype)
    if not holds(dtype, term.bounds):
        term = small(term)
    if dtype.startswith("uint") and term.bounds.lo < 0:
        term = ScalarTerm(
            tirx.max(term.expr, const(0, term.dtype)), term.bounds.maximum(Bounds(0, 0, True)), term.dtype
        )
    return ScalarTerm(tirx.Cast(dtype, term.expr), term.bounds, dtype)


def small(term: ScalarTerm) -> ScalarTerm:
    """Return the term clamped to a domain in which every operator of this file stays in range."""
    lo, hi = (-2, 2) if not term.dtype.startswith("uint") else (0, 2)
    if lo <= term.bounds.lo and term.bounds.hi <= hi:
        return term
    clamped = tirx.max(tirx.min(term.expr, const(hi, term.dtype)), const(lo, term.dtype))
    return ScalarTerm(clamped, term.bounds.clipped(lo, hi), term.dtype)


def _made(expr: Any, bounds: Bounds, dtype: str) -> ScalarTerm:
    if is_float(dtype):
        return ScalarTerm(expr, bounds.rounded(), dtype)
    return ScalarTerm(expr, Bounds(bounds.lo, bounds.hi, True), dtype)
