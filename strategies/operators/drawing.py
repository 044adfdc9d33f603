"""Small draws that every family needs: axes, permutations, positive extents, and values kept within limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tvm import relax

from strategies.bounds import BFLOAT as BFLOAT
from strategies.bounds import FLOAT8 as FLOAT8
from strategies.bounds import LOW_PRECISION as LOW_PRECISION
from strategies.bounds import Bounds, default_bounds, dtype_bounds, is_float
from strategies.values import Dim, Value, same_dim

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

MOST_ELEMENTS = 2**14
"""What a row that makes tensors larger makes at most, so that a run stays cheap."""


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


def axes_among(scope: Scope, rank: int, able: Sequence[int]) -> list[int]:
    """Draw distinct axes among ``able`` ones (at least one), each positive or negative."""
    mask = scope.integer(1, 2 ** len(able) - 1)
    chosen = [place for index, place in enumerate(able) if mask >> index & 1]
    if flip(scope):
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


def affordable(scope: Scope, dims: Sequence[Dim]) -> bool:
    """Whether a tensor of these dims is small enough to be made."""
    return scope.most_elements(dims) <= MOST_ELEMENTS


def joined(left: Sequence[Dim], right: Sequence[Dim]) -> tuple[Dim, ...] | None:
    """The shape that two shapes broadcast to; ``None`` when it is not known that they do."""
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
    return (*lead, *stretched) if affordable(scope, [*lead, *stretched]) else dims


def partner(scope: Scope, value: Value, bounds: Bounds | None = None, dtype: str | None = None) -> Value:
    """Draw another operand, of ``value``'s dtype or a given one, whose shape broadcasts with ``value``'s.

    Once in three times it is any value at hand that broadcasts, whichever of the two is stretched by it.
    """
    dims, dtype = shape_of(value), dtype or value.dtype
    if scope.index(3) == 2:

        def fits(other: Value) -> bool:
            if other.dtype != dtype or other.device is not None or other.dims is None:
                return False
            both = joined(dims, other.dims)
            return both is not None and affordable(scope, both)

        known = [other for other in reversed(scope.values) if fits(other)]
        if known:
            return scope.guard(known[scope.index(len(known))], bounds)
    return scope.tensor(dtypes=(dtype,), shape=broadcast_shape(scope, dims), bounds=bounds)


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


_SMALL = 2.0**-6
"""Numbers of float8 nearer to zero than this, and zero, are read wrongly."""


def read_bounds(value: Value) -> Bounds:
    """The bounds of a tensor as the kernel that reads it sees them.

    TVM defect: where float8 is widened, zero and subnormal numbers become some other number up to 2**-6 (a zero of
    float8_e4m3fn becomes 2**-7).
    """
    known = bounds_of(value)
    if value.dtype not in FLOAT8 or known.lo > _SMALL or known.hi < -_SMALL:
        return known
    return Bounds(min(known.lo, -_SMALL), max(known.hi, _SMALL))


def keep(scope: Scope, value: Value, lo: float, hi: float) -> Value:
    """The value itself when it lies in ``[lo, hi]``, else a guarded one that does."""
    known = bounds_of(value)
    if lo <= known.lo and known.hi <= hi:
        return value
    return scope.guard(value, Bounds(lo, hi, not is_float(value.dtype)))


def within(scope: Scope, value: Value, result: Callable[[Bounds], Bounds]) -> Value:
    """Guard ``value`` to its default domain when ``result`` of its bounds leaves what its dtype may hold."""
    dtype = value.dtype
    if dtype_bounds(dtype).contains(_whole(result(read_bounds(value)), dtype)):
        return value
    domain = default_bounds(dtype)
    return keep(scope, value, domain.lo, domain.hi)


def _whole(bounds: Bounds, dtype: str) -> Bounds:
    return Bounds(bounds.lo, bounds.hi, not is_float(dtype))


def emit(scope: Scope, expr: Any, bounds: Bounds, dtype: str, steps: int = 4) -> Value:
    """Emit a call whose elements lie in ``bounds``: widened for the rounding of a float, whole for an integer.

    ``steps`` says how often a result of low precision is rounded on the way.
    """
    known = bounds.rounded_as(dtype, steps) if is_float(dtype) else _whole(bounds, dtype)
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
