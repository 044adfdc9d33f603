"""Operands adapted from values at hand: where nothing fits, an operator or two that make something fit.

An operator that insists on a rank would begin with a parameter nearly always, and so never follow another operator.
Which adapters there are is in ``adapt_rank``, ``adapt_shape`` and ``adapt_dtype``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tvm import relax

from strategies.operators.adapt import dtype as adapt_dtype
from strategies.operators.adapt import rank as adapt_rank
from strategies.operators.adapt import shape as adapt_shape
from strategies.operators.adapt.step import Proposal
from strategies.scope.bounds import LOW_PRECISION, Bounds
from strategies.scope.scope import Scope
from strategies.scope.values import Dim, Value, same_dims

SHARE = 44
"""How often an operand is adapted when no computed value fits, in 64ths."""

SPICE = 6
"""How often one is adapted although a computed value fits, in 64ths."""

RECENT = 10
"""How many of the newest values are looked at."""

Predicate = Callable[[Value], bool]


def adapted(
    scope: Scope,
    *,
    dtypes: tuple[str, ...] | None = None,
    ranks: Sequence[int] | None = None,
    shape: Sequence[Dim] | None = None,
    static: bool = False,
    bounds: Bounds | None = None,
    where: Predicate | None = None,
    share: int = SHARE,
) -> Value:
    """Draw a tensor as :meth:`~strategies.scope.scope.Scope.tensor` does, but often adapted from a recent value.

    The arguments and errors are the same; ``where`` is asked of values that are about to be made, too, and ``share``
    says how often to adapt when nothing computed fits, in 64ths.
    """
    wanted = _Wanted(dtypes, ranks, None if shape is None else tuple(shape), static, where)
    sources = [v for v in scope.values[-RECENT:] if v.is_tensor and v.device is None]
    computed = [v for v in sources if not v.is_parameter]
    given = scope.aimed and scope.again
    if sources and not given and scope.chance(SPICE if any(wanted.accepts(v) for v in computed) else share):
        eager, scope.eager = scope.eager, False
        made = _adapt(scope, computed or sources, wanted)
        if made is not None:
            scope.chose(made)
            return scope.guard(made, bounds)
        scope.eager = eager
    return scope.tensor(dtypes=dtypes, ranks=ranks, shape=shape, static=static, bounds=bounds, where=where)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The demands on an operand; see :func:`adapted`."""

    dtypes: tuple[str, ...] | None
    ranks: Sequence[int] | None
    shape: tuple[Dim, ...] | None
    static: bool
    where: Predicate | None

    def accepts(self, value: Value) -> bool:
        """Say whether a tensor will do as it is."""
        if self.dtypes is not None and value.dtype not in self.dtypes:
            return False
        return self.accepts_shape(value) and (self.where is None or self.where(value))

    def accepts_shape(self, value: Value) -> bool:
        """Say whether a tensor's rank and dims will do; ``where`` is not asked."""
        if self.shape is not None:
            return same_dims(value.dims, self.shape)
        return (self.ranks is None or value.rank in self.ranks) and (not self.static or value.is_static)

    def accepts_dims(self, dims: tuple[Dim, ...], dtype: str, bounds: Bounds) -> bool:
        """Say whether a tensor of these dims, yet to be made, will do."""
        if self.static and not all(isinstance(dim, int) for dim in dims):
            return False
        return self.where is None or self.where(Value(None, relax.TensorType(list(dims), dtype), bounds))


def _adapt(scope: Scope, sources: list[Value], wanted: _Wanted) -> Value | None:
    """Draw one of the sources, brought to what is wanted; ``None`` when none of three drawn ones can be."""
    # What nothing took yet comes first, the newest of it most often; of the right dtype, or it takes two operators.
    typed = [v for v in sources if wanted.dtypes is None or v.dtype in wanted.dtypes]
    pool = list(reversed(typed if typed and scope.index(4) else sources))
    fresh = [v for v in pool if v.expr not in scope.frame.used]
    for attempt in range(min(3, len(pool))):
        source = fresh[0] if fresh and not attempt and scope.index(8) < 5 else scope.pick(pool)
        dtype = source.dtype
        if wanted.dtypes is not None and dtype not in wanted.dtypes:
            dtype = scope.pick_dtype(wanted.dtypes)
            if dtype == "bool" and source.dtype in LOW_PRECISION:
                continue
        made = _convert(scope, source, dtype, wanted)
        if made is not None:
            return made
    return None


def _convert(scope: Scope, source: Value, dtype: str, wanted: _Wanted) -> Value | None:
    """Bring a value to a dtype and to the wanted shape, by an operator each where it lacks."""
    if source.dtype == dtype:
        plan = _planned(scope, source, wanted)
        return None if plan is None else scope.emit(plan.build(), plan.bounds)
    if wanted.accepts_shape(source):
        fits = wanted.accepts_dims(source.shape, dtype, source.known)
        return _typed(scope, source, dtype) if fits else None
    plan = _planned(scope, source, wanted)
    if plan is None:
        return None
    # The shape first: a plan that came to nothing has left no binding behind.
    return _typed(scope, scope.emit(plan.build(), plan.bounds), dtype)


def _planned(scope: Scope, source: Value, wanted: _Wanted) -> Proposal | None:
    """Propose a drawn operator that brings a value to the wanted shape."""
    if wanted.shape is not None:
        shapers = list(adapt_shape.INTO)
        while shapers:
            shaper = shapers.pop(scope.index(len(shapers)))
            step = shaper(scope, source, wanted.shape)
            if step is not None and _fits(step, source, wanted):
                return step
        step = adapt_shape.gather_into(scope, source, wanted.shape)
        return step if step is not None and _fits(step, source, wanted) else None
    rank = source.rank if wanted.ranks is None else scope.pick(wanted.ranks)
    table = adapt_rank.SAME if rank == source.rank else adapt_rank.GROW if rank > source.rank else adapt_rank.SHRINK
    rankers = list(table)
    while rankers:
        step = rankers.pop(scope.index(len(rankers)))(scope, source, rank)
        if step is not None and _fits(step, source, wanted):
            return step
    return None


def _fits(step: Proposal, source: Value, wanted: _Wanted) -> bool:
    return wanted.accepts_dims(step.dims, source.dtype, step.bounds)


def _typed(scope: Scope, value: Value, dtype: str) -> Value | None:
    typers = list(adapt_dtype.TYPERS)
    while typers:
        made = typers.pop(scope.index(len(typers)))(scope, value, dtype)
        if made is not None:
            return made
    return None
