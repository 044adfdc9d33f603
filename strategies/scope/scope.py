"""Scope: what is visible at one point of a function under construction, and how to get more.

Operators, kernels and idioms draw their operands from here.  What no value at hand satisfies is made: a constant, a new
parameter, or a value brought into bounds.  So a request fails only for what the caller forbade, for a condition that
nothing meets, and for a symbolic dim that waits for a parameter where none can be added.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tvm import relax

from relaxkit.ir.dims import symbols_of
from relaxkit.ir.walk import operator_of
from strategies.scope import guards
from strategies.scope.bounds import Bounds, contents, default_bounds, is_float
from strategies.scope.choices import Draw
from strategies.scope.dims import LARGE_POOL, POOL, SYMBOL_RANGE, Range, dim_range, most_elements
from strategies.scope.emitter import BindingEmitter
from strategies.scope.features import Feature
from strategies.scope.frame import FunctionFrame, Infeasible, ModuleFrame
from strategies.scope.values import Dim, Value, same_dims

__all__ = ["Infeasible", "NothingAtHand", "Scope", "Value"]

MAX_ELEMENTS = 1024
"""Tensors that the scope itself makes hold at most this many elements, so that a run stays cheap."""

MAX_LARGE_ELEMENTS = 8192
"""The same for tensors with a large dim."""

MOST_ELEMENTS = 16 * 1024
"""What an operator that makes tensors larger makes at most."""

MAX_SYMBOLS = 5
"""Most symbolic dims of one made tensor: 4 ** 5 elements are :data:`MAX_ELEMENTS`."""

_RANKS = (2, 1, 2, 3, 0, 2, 1, 4, 2, 3, 1, 2, 4, 3, 5, 6)
"""Ranks of what is made when any will do, weighted by repetition, simplest first."""

_AIMED_RANKS = ((), (0,), *((3, 4),) * 6)
"""Ranks of the first operand of an operator that is aimed at, of which one entry is drawn; an empty one is any rank.
Mostly high ones: what the operator does to one axis differs from what it does to another."""


class NothingAtHand(Exception):
    """No computed value is what the first operand of a step must be; another step may do better."""


class Scope(BindingEmitter):
    """The visible values at a point of a function under construction.

    Attributes:
        closed: While true, no parameter can be added.
        branches: How many branches the open block is in.
        eager: While true, a request that no computed value satisfies raises :class:`NothingAtHand`; the first request
            ends it.
        aim: The operator that is drawn, where the caller of ``ir_modules`` aims at it: its first request is for a
            tensor of one of :data:`_AIMED_RANKS`, if possible for what the same operator made; that ends it.
        aimed: Whether the operator that is drawn is one that the caller aims at.
        again: What the next requests are given, where it fits, such as the operands of a call that is drawn once more;
            a request that finds ``None`` in front takes that away, and is given anything.
    """

    def __init__(self, draw: Draw, module: ModuleFrame, frame: FunctionFrame) -> None:
        super().__init__(draw, module, frame)
        self.closed = False
        self.branches = 0
        self.eager = False
        self.aim = ""
        self.aimed = False
        self.again: tuple[Any, ...] = ()
        self._last: Value | None = None

    # -- what is known about values -----------------------------------------------------------------------------

    def dim_range(self, dim: Dim) -> Range:
        """Return least and greatest value that a dim takes, both included."""
        return dim_range(dim, self.frame.symbols)

    def most_elements(self, dims: Sequence[Dim]) -> int:
        """Return the greatest number of elements that a tensor of these dims may have."""
        return most_elements(dims, self.frame.symbols)

    def least(self, dim: Dim) -> int:
        """Return the least value that a dim takes."""
        return self.dim_range(dim)[0]

    def nonempty(self, value: Value) -> bool:
        """Say whether no dim of a tensor can be 0."""
        return all(self.least(dim) > 0 for dim in value.shape)

    def affordable(self, dims: Sequence[Dim]) -> bool:
        """Say whether a tensor of these dims, larger than its operands, is small enough to be made."""
        return self.most_elements(dims) <= MOST_ELEMENTS

    def small_dim(self) -> int:
        """Draw a static dim from the pool (mostly 1 to 5, rarely 8; 0 rarely, and only with EMPTY_TENSORS)."""
        index = self.index(len(POOL) * 2)
        if index == len(POOL) * 2 - 1 and self.has(Feature.EMPTY_TENSORS):
            return 0
        return POOL[index % len(POOL)]

    def tensors(self, predicate: Callable[[Value], bool] | None = None) -> list[Value]:
        """Return visible tensors of known shape and dtype, oldest first."""
        return [v for v in self.values if v.is_tensor and (predicate is None or predicate(v))]

    # -- getting values -----------------------------------------------------------------------------------------

    def tensor(
        self,
        *,
        dtypes: tuple[str, ...] | None = None,
        ranks: Sequence[int] | None = None,
        shape: Sequence[Dim] | None = None,
        static: bool = False,
        bounds: Bounds | None = None,
        where: Callable[[Value], bool] | None = None,
    ) -> Value:
        """Return a tensor that fits: one at hand, or a new one.

        Args:
            dtypes: Accepted element types, ``None`` for any.
            ranks: Accepted ranks, ``None`` for any.
            shape: The exact dims.
            static: Whether every dim must be a number.
            bounds: What its elements must lie in; a value outside is guarded.
            where: A further condition, asked of candidates (of one to be made, before it is emitted: its ``expr`` is
                ``None`` then).

        Raises:
            Infeasible: when eight made-up candidates in a row do not satisfy ``where``.
        """
        fits: list[Value] = []
        given: list[Value] = []
        aim, self.aim = self.aim, ""
        if aim and shape is None:
            wanted = self.pick(_AIMED_RANKS)
            ranks = [rank for rank in (_RANKS if ranks is None else ranks) if rank in wanted] or ranks
        constant = bool(aim) and shape is None and not self.forbids(Feature.CONSTANTS) and self.index(6) == 5
        for value in reversed(self.values):
            if value.dims is None or not value.dtype or value.device is not None:
                continue  # what lives on another device joins no computation until it is moved back
            if dtypes is not None and value.dtype not in dtypes:
                continue
            if shape is not None:
                if not same_dims(value.dims, shape):
                    continue
            elif (ranks is not None and value.rank not in ranks) or (static and not value.is_static):
                continue
            if where is None or where(value):
                (given if value.is_parameter else fits).append(value)
        own = [value for value in fits if aim and self._is_made_by(aim, value.expr)]
        same = self.taken_again(fits + given)
        if same is not None:
            chosen: Value | None = same
        elif constant:  # a pass may fold them
            chosen = None
        else:
            chosen = own[0] if own and self.index(4) else self._chosen(fits, given)
        if chosen is None:
            for _ in range(8):
                dtype = self.pick_dtype(dtypes)
                mark = len(self.frame.awaited)
                dims = tuple(shape) if shape is not None else self.draw_shape(ranks, static or constant)
                value = Value(None, relax.TensorType(list(dims), dtype), bounds or default_bounds(dtype))
                if where is None or where(value):
                    return self.constant(dims, dtype, bounds) if constant else self.make(dims, dtype, bounds)
                self.frame.forget_symbols(mark)
            raise Infeasible(f"nothing of dtypes {dtypes}, ranks {ranks}, shape {shape} satisfies the row")
        self._last = chosen
        return self.guard(chosen, bounds) if bounds is not None else chosen

    def taken_again(self, able: Sequence[Value]) -> Value | None:
        """Return the first of those that fit that the request is to be given once more."""
        if self.again and self.again[0] is None:
            self.again = self.again[1:]
            return None
        wanted = ((at, expr) for at, expr in enumerate(self.again) if expr is not None)
        for at, value in ((at, value) for at, expr in wanted for value in able if expr.same_as(value.expr)):
            self.again = (*self.again[:at], *self.again[at + 1 :])
            return value
        return None

    def _is_made_by(self, name: str, expr: Any) -> bool:
        return isinstance(expr, relax.Var) and operator_of(self.builder.lookup_binding(expr)) == name

    def chose(self, value: Value) -> None:
        """Remember the operand of a step, so that its next one is seldom the same."""
        self._last = value

    def _chosen(self, computed: list[Value], given: list[Value]) -> Value | None:
        """Return one of the values that fit, each list newest first; ``None`` for something new.

        What was computed goes first, and the newest of that most often, or operators would meet parameters and never
        each other.  Once in eight times it is something new, or a case would feed on its first parameter alone.

        Raises:
            NothingAtHand: when the step would rather be another one than begin with something new.
        """
        if self.eager:
            self.eager = False
            if not computed and any(value.dtype and not value.is_parameter for value in self.values):
                raise NothingAtHand
        if not computed and not given:
            return None
        way = self.index(8)
        if way == 7 and (self.has(Feature.CONSTANTS) or self.can_add_parameter()):
            return None
        if way < 5 and computed:
            # What nothing took yet, or it would be dead code; the second operand of a step is seldom its first again.
            fresh = [value for value in computed if value.expr not in self.frame.used] or computed
            return fresh[1] if fresh[0] is self._last and len(fresh) > 1 and way else fresh[0]
        both = computed + given
        return both[self.index(len(both))]

    def tensor_like(self, value: Value, *, bounds: Bounds | None = None) -> Value:
        """Return a tensor of the same shape and dtype as ``value``, another or the same."""
        return self.tensor(dtypes=(value.dtype,), shape=value.dims, bounds=bounds)

    def constant(self, shape: Sequence[int], dtype: str, bounds: Bounds | None = None) -> Value:
        """Return a constant tensor of a static shape with elements in ``bounds`` (default: the default domain)."""
        if not self.module.permits(dtype):
            raise Infeasible(f"{dtype} is forbidden")
        # TVM 0.27 writes a constant such as (2, 0) to JSON that it cannot read back ("Invalid DLTensor file format").
        unreadable = 0 in shape and shape[0] != 0
        if shape and (unreadable or self.forbids(Feature.CONSTANTS)):
            return self._filled(shape, dtype, bounds or default_bounds(dtype))
        wanted = bounds or default_bounds(dtype)
        alike = [v for v in self.module.constants if v.dtype == dtype and v.shape == tuple(shape)]
        alike = [v for v in alike if wanted.contains(v.known)]
        if alike and self.index(4) == 3:  # one object in several places, also of several functions
            return alike[-1]
        array = contents(tuple(shape), dtype, wanted, self.index(256))
        expr = relax.const(array, dtype)
        known = Bounds(float(array.min()), float(array.max()), not is_float(dtype)) if array.size else bounds
        made = Value(expr, expr.ty, known or default_bounds(dtype))
        self.module.constants.append(made)
        return made

    def scalar(self, number: float, dtype: str) -> Value:
        """Return a rank-0 constant."""
        expr = relax.const(number, dtype)
        return Value(expr, expr.ty, Bounds(number, number, float(number).is_integer()))

    def guard(self, value: Value, bounds: Bounds | None) -> Value:
        """Return a tensor equal to ``value`` where that lies in ``bounds``, and within them everywhere."""
        if bounds is None or (value.bounds is not None and bounds.contains(value.bounds)):
            return value
        return guards.guard(self, value, bounds)

    def keep(self, value: Value, lo: float, hi: float) -> Value:
        """Return the value itself when it lies in ``[lo, hi]``, else a guarded one that does."""
        if lo <= value.known.lo and value.known.hi <= hi:
            return value
        return self.guard(value, Bounds(lo, hi, not is_float(value.dtype)))

    # -- symbols and parameters ---------------------------------------------------------------------------------

    def symbol(self) -> Any:
        """Return a symbolic dim of this function: one at hand, or a new one, which awaits a parameter that has it."""
        known = self.frame.symbol_list + self.frame.awaited
        index = self.index(len(known) * 2 + 1)
        return known[index // 2] if index < len(known) * 2 else self.frame.await_symbol(SYMBOL_RANGE)

    def draw_shape(self, ranks: Sequence[int] | None = None, static: bool = False) -> tuple[Dim, ...]:
        """Draw dims for something that is about to be made; symbolic ones only when a parameter can define them."""
        rank = self.pick(_RANKS if ranks is None else list(ranks))
        symbolic = not static and self.has(Feature.SYMBOLIC_SHAPES)
        dims: list[Dim] = []
        for _ in range(rank):
            if symbolic and self.index(8) >= 4 and sum(not isinstance(dim, int) for dim in dims) < MAX_SYMBOLS:
                dims.append(
                    self.symbol()
                    if self.can_add_parameter()
                    else self.pick(self.frame.symbol_list or [self.small_dim()])
                )
            else:
                dims.append(self.small_dim())
        most, large = MAX_ELEMENTS, -1
        if rank and self.has(Feature.LARGE_TENSORS) and self.chance(12):
            fixed = [place for place, dim in enumerate(dims) if isinstance(dim, int)]
            if fixed:
                large, most = self.pick(fixed), MAX_LARGE_ELEMENTS
                dims[large] = self.pick(LARGE_POOL)
        # A symbolic dim stays: it may be a new one, which the parameter to be made defines.
        while self.most_elements(dims) > most:
            rest = [place for place, dim in enumerate(dims) if isinstance(dim, int) and dim > 1 and place != large]
            if not rest:
                dims[large] = LARGE_POOL[0]
                break
            widest = max(rest, key=lambda place: dims[place])
            dims[widest] = 2 if dims[widest] > 2 else 1
        return tuple(dims)

    def can_add_parameter(self) -> bool:
        """Say whether the function can still get a parameter."""
        return not self.closed and len(self.frame.parameters) < self.frame.max_parameters

    def parameter(self, ty: Any, bounds: Bounds | None = None, *, actual: tuple[Dim, ...] | None = None) -> Value:
        """Add a parameter of a type; symbolic dims in it that no earlier parameter has are defined by it."""
        return self.see(self.frame.add_parameter(ty, bounds, actual=actual))

    def forgotten(self, variable: Any, less: Any) -> Any:
        """Return a variable of a type that says less: one cast to it, or a parameter that is cast to what it is."""
        known = next((value for value in self.values if variable.same_as(value.expr)), None)
        rank_only = isinstance(less, relax.TensorType) and less.shape is None and less.ndim >= 0 and less.dtype
        if known is None or not rank_only or not all(isinstance(dim, int) for dim in known.shape) or self.branches:
            return super().forgotten(variable, less)
        domain = default_bounds(known.dtype)
        if known.device is not None or not known.known.contains(domain) or not self.can_add_parameter() or self.flip():
            return super().forgotten(variable, less)
        parameter = self.parameter(less, domain, actual=known.shape)
        self.frame.casts[parameter.expr] = known.shape
        self.match_cast(parameter, known.shape)
        return parameter.expr

    @contextlib.contextmanager
    def branch(self) -> Iterator[None]:
        """Enter a branch; of what it binds, its parameters alone are seen behind it, and no symbols of its casts."""
        before, keep, casts = self.values, self.keep_outputs, len(self.frame.cast_symbols)
        self.values = list(before)
        self.branches += 1
        try:
            yield
            before = before + [value for value in self.values[len(before) :] if value.is_parameter]
        finally:
            self.values, self.keep_outputs = before, keep
            self.branches -= 1
            del self.frame.cast_symbols[casts:]

    def make(self, dims: Sequence[Dim], dtype: str, bounds: Bounds | None = None) -> Value:
        """Return a new tensor: a parameter, a constant or a filled tensor.

        Raises:
            Infeasible: when its dtype is forbidden, or a dim awaits a parameter and this is none.
        """
        if not self.module.permits(dtype):
            raise Infeasible(f"{dtype} is forbidden")
        static = all(isinstance(dim, int) for dim in dims)
        as_parameter = self.can_add_parameter() and self.definable(dims)
        if as_parameter and static and (self.has(Feature.CONSTANTS) or len(self.frame.parameters) >= 3):
            as_parameter = not self.chance(24)
        if as_parameter:
            made = self.parameter(self.frame.tensor_type(dims, dtype), default_bounds(dtype))
            return self.guard(made, bounds)
        if static:
            return self.constant([int(dim) for dim in dims], dtype, bounds)
        return self._filled(dims, dtype, bounds or default_bounds(dtype))

    def definable(self, dims: Sequence[Dim]) -> bool:
        """Say whether a parameter may have these dims: it defines each symbol, or another does, not only a cast."""
        symbolic = {dim for dim in dims if not isinstance(dim, int)}
        known = symbolic.intersection(self.frame.awaited).union(self.frame.symbol_list)
        return all(symbol in known for dim in symbolic for symbol in symbols_of(dim))

    def _filled(self, dims: Sequence[Dim], dtype: str, domain: Bounds) -> Value:
        number = guards.number_in(domain, dtype)
        filled = relax.op.full(self.shape_expr(dims), relax.const(number, dtype), dtype)
        return self.emit(filled, Bounds(number, number, float(number).is_integer()))

    def pick_dtype(self, dtypes: tuple[str, ...] | None) -> str:
        """Draw a dtype among the accepted ones, of those that the features allow where there are any."""
        allowed = self.module.dtypes
        if dtypes is not None:
            allowed = tuple(d for d in allowed if d in dtypes) or tuple(d for d in dtypes if self.module.permits(d))
        if not allowed:
            raise Infeasible(f"none of the dtypes {dtypes} is permitted")
        return self.pick(allowed)
