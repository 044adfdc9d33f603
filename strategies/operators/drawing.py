"""Small draws that every family needs: axes, permutations, positive extents, and values kept within limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tvm import relax

from strategies.bounds import Bounds, default_bounds, dtype_bounds, is_float
from strategies.values import Value

if TYPE_CHECKING:
    from strategies.scope import Scope

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
ANY = (*NUMBERS, "bool")


def flip(scope: Scope) -> bool:
    """Draw a boolean that shrinks to ``False``."""
    return scope.index(2) == 1


def rarely(scope: Scope) -> bool:
    """Draw a boolean that is true once in eight times."""
    return scope.index(8) == 7


def axis(scope: Scope, rank: int) -> int:
    """Draw an axis of a tensor, counted from the front or, negative, from the back; ``rank`` is at least 1."""
    drawn = scope.integer(0, 2 * rank - 1)
    return drawn if drawn < rank else drawn - 2 * rank


def axes(scope: Scope, rank: int, empty: bool = False) -> list[int]:
    """Draw distinct axes, each positive or negative; none only when ``empty`` allows or ``rank`` is 0."""
    if rank == 0:
        return []
    mask = scope.integer(0 if empty else 1, 2**rank - 1)
    chosen = [index for index in range(rank) if mask >> index & 1]
    if chosen and flip(scope):
        chosen[0] -= rank
        chosen.reverse()
    return chosen


def permutation(scope: Scope, rank: int) -> list[int]:
    """Draw a permutation of ``range(rank)`` by one integer (its factorial code)."""
    total = 1
    for factor in range(2, rank + 1):
        total *= factor
    code = scope.integer(0, total - 1)
    rest, drawn = list(range(rank)), []
    for size in range(rank, 0, -1):
        code, index = divmod(code, size)
        drawn.append(rest.pop(index))
    return drawn


def static(dim: Any) -> int | None:
    """The value of a dimension known now, or ``None`` for a symbolic one."""
    return dim if isinstance(dim, int) else None


def shape_of(value: Value) -> tuple[Any, ...]:
    """The dimensions of a tensor of known shape: Python integers where static, else TVM expressions."""
    if value.dims is None:
        raise ValueError("a tensor without a known shape is no operand")
    return value.dims


def nonempty(scope: Scope) -> Callable[[Value], bool]:
    """A predicate: no dimension of the tensor can be 0."""
    return lambda value: all(scope.dim_range(dim)[0] > 0 for dim in shape_of(value))


def bounds_of(value: Value) -> Bounds:
    """The bounds of a tensor; of one that carries none, all that its dtype may hold in a drawn module."""
    return dtype_bounds(value.dtype) if value.bounds is None else value.bounds


def keep(scope: Scope, value: Value, lo: float, hi: float) -> Value:
    """The value itself when it lies in ``[lo, hi]``, else a guarded one that does."""
    known = bounds_of(value)
    if lo <= known.lo and known.hi <= hi:
        return value
    return scope.guard(value, Bounds(lo, hi, not is_float(value.dtype)))


def within(scope: Scope, value: Value, result: Callable[[Bounds], Bounds]) -> Value:
    """Guard ``value`` to its default domain when ``result`` of its bounds leaves what its dtype may hold."""
    dtype = value.dtype
    if dtype_bounds(dtype).contains(_whole(result(bounds_of(value)), dtype)):
        return value
    domain = default_bounds(dtype)
    return keep(scope, value, domain.lo, domain.hi)


def _whole(bounds: Bounds, dtype: str) -> Bounds:
    return Bounds(bounds.lo, bounds.hi, not is_float(dtype))


def emit(scope: Scope, expr: Any, bounds: Bounds, dtype: str) -> Value:
    """Emit a call whose elements lie in ``bounds``: widened for the rounding of a float, whole for an integer."""
    known = bounds.rounded() if is_float(dtype) and not bounds.integral else _whole(bounds, dtype)
    if not is_float(dtype):
        known = Bounds(known.lo // 1, -(-known.hi // 1), True)
    return scope.emit(expr, known)


def project(scope: Scope, call: Any, bounds: Sequence[Bounds | None]) -> Value:
    """Emit a call with a tuple result and project its fields: usually one of them, sometimes all (the rest is dead)."""
    expr = scope.builder.normalize(call)
    parts = [Value(None, ty, known) for ty, known in zip(expr.ty.fields, bounds, strict=True)]
    whole = scope.emit(expr, parts=parts)
    index = scope.index(len(bounds))
    if rarely(scope):
        for other in range(len(bounds)):
            if other != index:
                scope.emit(relax.TupleGetItem(whole.expr, other), part_of=whole)
    return scope.emit(relax.TupleGetItem(whole.expr, index), part_of=whole)
