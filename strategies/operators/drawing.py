"""Dtypes and ranks by name, and operands that broadcast or whose products stay within their dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tvm import relax

from relaxkit.ir.walk import is_constant, operator_of
from strategies.scope.bounds import BFLOAT as BFLOAT
from strategies.scope.bounds import FLOAT8 as FLOAT8
from strategies.scope.bounds import LOW_PRECISION as LOW_PRECISION
from strategies.scope.bounds import Bounds, default_bounds, dtype_bounds, holds, is_float
from strategies.scope.features import Feature
from strategies.scope.frame import CONST
from strategies.scope.scope import Infeasible, Scope
from strategies.scope.values import Dim, Value, same_dim

FLOATS = ("float32", "float64", "float16")
"""Floating dtypes whose kernels LLVM compiles for nearly every operator."""
WIDE_FLOATS = ("float32", "float64")
"""For operators without a float16 kernel on LLVM (``unknown intrinsic``) or whose float16 result is ill-conditioned."""
SIGNED = ("int64", "int32", "int8", "int16")
UNSIGNED = ("uint8", "uint32", "uint16")
INTEGERS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTEGERS
SIGNED_NUMBERS = FLOATS + SIGNED
BOOLEAN = ("bool",)
REAL_FLOATS = FLOATS + BFLOAT
"""What type inference calls a float; float8 is none to it ("requires the input tensor to have float dtype")."""
ANY_FLOATS = FLOATS + LOW_PRECISION
ANY_NUMBERS = NUMBERS + LOW_PRECISION
"""For arithmetic: what is narrower than float16 is computed in float32 and rounded where it is stored."""
ANY_SIGNED = SIGNED_NUMBERS + LOW_PRECISION
ANY = (*ANY_NUMBERS, "bool")
"""For what moves elements and leaves them as they are."""

SOME_RANK = (2, 1, 3, 2, 1, 4, 3, 2, 5, 6)
"""Ranks for what needs at least one dim, weighted by repetition, simplest first."""
MATRIX_UP = (2, 3, 2, 4, 3, 5, 6)
"""The same for two dims or more."""
FEW_RANKS = (2, 1, 0, 3, 1, 2, 4, 5)
"""Ranks for what adds a dim or two."""


def joined(left: Sequence[Dim], right: Sequence[Dim]) -> tuple[Dim, ...] | None:
    """Return the shape that two shapes broadcast to; ``None`` when it is not known that they do."""
    longer, shorter = (tuple(left), tuple(right)) if len(left) >= len(right) else (tuple(right), tuple(left))
    lead = len(longer) - len(shorter)
    dims: list[Dim] = list(longer[:lead])
    for one, other in zip(longer[lead:], shorter, strict=True):
        if isinstance(one, int) and one == 1:
            dims.append(other)
        elif (isinstance(other, int) and other == 1) or same_dim(one, other):
            dims.append(one)
        else:
            return None
    return tuple(dims)


def broadcast_shape(scope: Scope, dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """Draw a shape that broadcasts with ``dims``: the same, a suffix, one with ones, a scalar's, or a greater one."""
    kind = scope.index(12)
    if kind < 5:
        return dims
    if kind < 7 and dims:
        return dims[scope.integer(1, len(dims)) :]
    if kind < 9 and dims:
        mask = scope.integer(1, 2 ** len(dims) - 1)
        return tuple(1 if mask >> index & 1 else dim for index, dim in enumerate(dims))
    if kind == 9:
        return ()
    stretched = [scope.small_dim() if isinstance(dim, int) and dim == 1 else dim for dim in dims]
    lead = [scope.small_dim() for _ in range(scope.index(3) if len(dims) < 5 else 0)]
    return (*lead, *stretched) if scope.affordable([*lead, *stretched]) else dims


_TYPICAL = (1, 0, 2, -1, 0.5)
"""Numbers that a simplification may look for."""


def typical(scope: Scope, dtype: str, shape: Sequence[int] = (), bounds: Bounds | None = None) -> Value | None:
    """Draw a constant full of a number that a simplification may look for; ``None`` where bounds or shape hold none.

    Once in three times every other element is another such number: a pass may have looked at some elements only.
    """
    held = bounds or default_bounds(dtype)
    whole = not is_float(dtype)
    able = [each for each in _TYPICAL if held.lo <= each <= held.hi and (not whole or float(each).is_integer())]
    if not able or 0 in shape:  # JSON of an empty constant is not read back, see Scope.constant
        return None
    number = scope.pick(able)
    if not shape:
        return scope.scalar(number, dtype)
    array = np.full(shape, number, dtype)
    if scope.index(3) == 2:
        array.flat[1::2] = scope.pick(able)
    expr = relax.const(array, dtype)
    lo, hi = float(array.min()), float(array.max())
    return Value(expr, expr.ty, Bounds(lo, hi, lo.is_integer() and hi.is_integer()))


def _constants_of(scope: Scope, value: Value) -> list[Value]:
    """Return the constants that a value is computed from: a pattern may ask for one in two places."""
    call = scope.builder.lookup_binding(value.expr) if isinstance(value.expr, relax.Var) else None
    found = []
    for each in call.args if call is not None and operator_of(call) else ():
        if is_constant(each) and isinstance(each.ty, relax.TensorType) and (array := each.value.numpy()).size:
            bounds = Bounds(float(array.min()), float(array.max()), not is_float(str(each.ty.dtype)))
            found.append(Value(each, each.ty, bounds))
    return found


def _wider(scope: Scope, dims: Sequence[int]) -> Sequence[int]:
    """Return a shape that stretches what has the given one, where that is affordable."""
    stretched = [2 if dim == 1 else dim for dim in dims]
    wider = stretched if stretched != list(dims) else [2, *dims]
    return wider if scope.affordable(wider) else dims


def partner(scope: Scope, value: Value, bounds: Bounds | None = None, dtype: str | None = None) -> Value:
    """Draw another operand, of ``value``'s dtype or a given one, whose shape broadcasts with ``value``'s.

    Once in three times it is any value at hand that broadcasts, whichever of the two is stretched by it. Where the
    caller of ``ir_modules`` aims at the operator, it is before that, once in six times, ``value`` itself, and twice
    in five times a number that a simplification may look for, often the one that ``value`` is computed from.
    """
    dims, dtype = value.shape, dtype or value.dtype

    def fits(other: Value) -> bool:
        if other.dtype != dtype or other.device is not None or other.dims is None:
            return False
        both = joined(dims, other.dims)
        return both is not None and scope.affordable(both)

    known = [other for other in reversed(scope.values) if fits(other)] if scope.again else []
    if scope.aimed and (same := scope.taken_again(known)) is not None:
        return scope.guard(same, bounds)
    folded = CONST in scope.module.aimed
    if scope.aimed and dtype == value.dtype and scope.index(16 if folded else 6) == 5:
        return scope.guard(value, bounds)
    if scope.aimed and dtype != "bool" and (scope.index(16) > 0 if folded else scope.index(5) > 2):
        before = [each for each in _constants_of(scope, value) if fits(each)]
        if before and scope.index(2):
            return scope.guard(before[0], bounds)
        # As a tensor where NumPy has the dtype: a pass may look for numbers of any shape, and forget what a shape does.
        full = value.is_static and dtype in NUMBERS and not scope.forbids(Feature.CONSTANTS)
        kind = scope.index(6) if full else 0
        place = scope.index(value.rank) if kind in (3, 5) and value.rank else 0
        shape = () if kind < 2 else _wider(scope, value.shape) if kind == 4 else value.shape[place:]
        if kind == 5:  # as (k, 1) or (1, k): what is stretched along one axis alone
            shape = (*value.shape[:place], 1, *value.shape[place + 1 :])
        if folded and full and scope.index(2):
            return scope.constant([int(dim) for dim in shape], dtype, bounds)
        if (number := typical(scope, dtype, shape, bounds)) is not None:
            return number
    if scope.index(3) == 2:
        known = [other for other in reversed(scope.values) if fits(other)]
        if known:
            return scope.guard(known[scope.index(len(known))], bounds)
    return scope.tensor(dtypes=(dtype,), shape=broadcast_shape(scope, dims), bounds=bounds)


def calm(scope: Scope, result: Callable[..., Bounds], *operands: Value) -> list[Value]:
    """Guard operands to the default domain when ``result`` of their bounds leaves what their dtype may hold."""
    dtype = operands[0].dtype
    if holds(dtype, result(*(each.read_bounds for each in operands))):
        return list(operands)
    domain = default_bounds(dtype)
    return [scope.keep(each, domain.lo, domain.hi) for each in operands]


def project(scope: Scope, call: Any, bounds: Sequence[Bounds | None]) -> Value:
    """Emit a call with a tuple result and project its fields: usually one of them, sometimes all (the rest is dead)."""
    expr = scope.builder.normalize(call)
    whole = scope.emit_tuple(expr, expr.ty.fields, bounds)
    index = scope.index(len(bounds))
    if scope.rarely():
        for other in range(len(bounds)):
            if other != index:
                scope.item(whole, other)
    return scope.item(whole, index)


def product_sum(scope: Scope, left: Value, right: Value, terms: int, dtype: str) -> tuple[Value, Value, Bounds]:
    """Guard two operands so that a sum of ``terms`` products stays within ``dtype``, or raise ``Infeasible``.

    The operands are cast to the dtype of the sum before they are multiplied, so they lie within it as well.
    """
    limit = dtype_bounds(dtype)
    for attempt in range(2):
        known = (left.known * right.known).up_to(max(terms, 1))
        if all(holds(dtype, each) for each in (known, left.known, right.known)):
            return left, right, known
        if attempt == 0:
            left, right = (_tamed(scope, each, limit) for each in (left, right))
    raise Infeasible(f"a sum of {terms} products leaves {dtype}")


def _tamed(scope: Scope, value: Value, limit: Bounds) -> Value:
    domain = default_bounds(value.dtype)
    return scope.keep(value, max(domain.lo, limit.lo), min(domain.hi, limit.hi))
