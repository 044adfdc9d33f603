"""Local functions: bound inside a function, called there, with and without captured values."""

from __future__ import annotations

import contextlib
import enum
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tvm import relax, tirx

from strategies import impure
from strategies.body import Body
from strategies.bounds import default_bounds
from strategies.calls import call
from strategies.dims import symbols_of
from strategies.features import Feature
from strategies.frame import Signature
from strategies.results import as_tuple
from strategies.scope import Scope, Unfit
from strategies.values import Dim, Value

op = relax.op

MAX_NESTING = 2
"""Local functions inside one another."""

Step = Callable[[Scope, int], None]


class Kind(enum.Enum):
    """What a local function is to be."""

    PLAIN = "plain"
    CAPTURING = "capturing"
    NESTING = "nesting"
    RETURNING = "returning"


@dataclass(frozen=True, slots=True)
class _Formals:
    """Parameters of a local function with the symbolic dims that they share with the caller, and their own."""

    values: tuple[Value, ...]
    shared: tuple[Any, ...]
    own: dict[Any, Any]


def no_step(scope: Scope, depth: int) -> None:
    """No step: a body of what its kind needs alone."""


def draw_local(scope: Scope, step: Step = no_step) -> Value:
    """Bind a local function and a call of it, or another call of one at hand; never inside a dataflow block.

    ``step(scope, depth)`` emits something in its body.
    """
    known = [frame for value in scope.values if (frame := scope.frame.closures.get(value.expr)) is not None]
    if known and scope.index(3) == 2:
        return call(scope, known[-1 - scope.index(len(known))])
    kinds = [Kind.PLAIN]
    if scope.has(Feature.CAPTURES):
        kinds.append(Kind.CAPTURING)
    if scope.has(Feature.NESTED_CLOSURES) and scope.frame.nesting < MAX_NESTING - 1:
        kinds.append(Kind.NESTING)
        if scope.has(Feature.RETURNED_CLOSURES):
            kinds.append(Kind.RETURNING)
    return draw_kind(scope, step, scope.pick(kinds))


def draw_kind(scope: Scope, step: Step, kind: Kind, like: Value | None = None) -> Value:
    """Bind a local function of a kind and a call of it, sometimes two; ``like`` is what it may be called with."""
    function = bind(scope, step, kind, like=like)
    value = call(scope, function)
    return call(scope, function) if scope.index(3) == 2 else value


def bind(
    scope: Scope, step: Step, kind: Kind, *, static: bool = False, nested: bool = False, like: Value | None = None
) -> Signature:
    """Bind a local function.

    Args:
        scope: Where it is bound.
        step: ``step(scope, depth)`` emits something in its body.
        kind: What it is to be.
        static: Whether its parameters have static shapes.
        nested: Whether it may be inside another one, whatever the features say.
        like: A tensor that its first parameter fits.

    Raises:
        Unfit: when no local function may be here.
    """
    frame = scope.frame
    if scope.module.strict and scope.module.vdevices:
        raise Unfit("RealizeVDevice gives local functions types that their calls have not")
    nested = nested or scope.has(Feature.NESTED_CLOSURES)
    if frame.nesting >= MAX_NESTING or (frame.nesting and not nested):
        raise Unfit("local functions are nested too deep")
    if scope.in_dataflow:
        raise Unfit("a local function in a dataflow block")
    captures = kind is not Kind.PLAIN and scope.has(Feature.CAPTURES)
    # LambdaLift forgets the symbols of dims that no parameter has alone, and local functions that another one captures:
    # what it lifts is ill formed.  A symbol in the parameter of a nested function counts as defined there, so that the
    # outer one does not get it.
    bold = not scope.module.strict and scope.index(32) == 31
    fits = None if bold else functools.partial(_is_liftable, frame.local_symbols)
    first = like if like is not None else scope.tensor(static=static, where=fits)
    outer = [first, *(scope.tensor(static=static, where=fits) for _ in range(scope.index(2)))]
    grab = scope.variable(scope.tensor_like(first)) if captures else None
    formals = _formals(scope, outer, kind)
    before = [v for v in scope.values if bold or (_is_plain(v) and not v.is_function)] if captures else []
    with _inside(scope, formals, before, captures):
        impurity, frame.impure = frame.impure, False
        body = Body(scope)
        try:
            result, returns = _fill(scope, body, step, kind, formals, grab)
        except Unfit:
            body.abandon()
            frame.impure = impurity
            raise
        sequence = scope.builder.normalize(body.sequence(result.expr))
        effect, frame.impure = frame.impure, impurity
    function = relax.Function([value.expr for value in formals.values], sequence, is_pure=not effect)
    value = scope.emit(function, hint="inner")
    ranges = {new: frame.symbols[new] for new in formals.own.values()}
    signature = Signature(
        value.expr,
        formals.values,
        result,
        ranges,
        {},
        depth=0,
        impure=effect,
        shared=formals.shared,
        returns=returns,
    )
    frame.closures[value.expr] = signature
    return signature


def _formals(scope: Scope, outer: list[Value], kind: Kind) -> _Formals:
    """A parameter like each outer value: with the same symbolic dims, or with its own that stand for any."""
    generic = kind is Kind.PLAIN and scope.index(3) == 2
    own: dict[Any, Any] = {}
    values = []
    for number, value in enumerate(outer):
        dims = value.dims or ()
        if generic and _is_plain(value):
            dims = tuple(_own(scope, own, dim) for dim in dims)
        ty = relax.TensorType(list(dims), value.dtype)
        bounds = value.known.union(default_bounds(value.dtype))
        values.append(Value(relax.Var("abcd"[number], ty), ty, bounds))
    shared = dict.fromkeys(
        symbol for value in values for dim in value.dims or () for symbol in _symbols(dim) if symbol not in own.values()
    )
    if scope.has(Feature.TUPLES) and len(values) == 2 and not own and scope.index(3) == 2:
        tuple_type = relax.TupleType([value.ty for value in values])
        parts = tuple(Value(None, value.ty, value.bounds) for value in values)
        return _Formals((Value(relax.Var("t", tuple_type), tuple_type, parts=parts),), tuple(shared), own)
    return _Formals(tuple(values), tuple(shared), own)


def _is_liftable(symbols: frozenset[Any] | None, value: Value) -> bool:
    """Whether LambdaLift lifts a local function with such a parameter, where ``symbols`` are those at hand."""
    if not _is_plain(value):
        return False
    return symbols is None or all(isinstance(dim, int) or dim in symbols for dim in value.dims or ())


def _is_plain(value: Value) -> bool:
    """Whether every dim is a number or a symbol alone, in each part of a tuple."""
    if value.parts:
        return all(_is_plain(part) for part in value.parts)
    return value.dims is None or all(isinstance(dim, (int, tirx.Var)) for dim in value.dims)


def _own(scope: Scope, own: dict[Any, Any], dim: Dim) -> Dim:
    if isinstance(dim, int):
        return dim
    if dim not in own:
        own[dim] = scope.frame.new_symbol(scope.dim_range(dim), listed=False)
    return own[dim]


def _symbols(dim: Dim) -> list[Any]:
    return [] if isinstance(dim, int) else symbols_of(dim)


@contextlib.contextmanager
def _inside(scope: Scope, formals: _Formals, before: list[Value], captures: bool) -> Iterator[None]:
    """The scope as the body of a local function sees it; afterwards as it was."""
    frame = scope.frame
    saved = (scope.values, scope.closed, scope.keep_outputs, frame.symbol_list, frame.shape_symbols, frame.cast_symbols)
    inner = [*formals.own.values(), *formals.shared]
    outside, frame.local_symbols = frame.local_symbols, frozenset(inner)
    scope.values = [*before, *formals.values]
    scope.closed = True
    frame.symbol_list = frame.symbol_list + inner if captures else inner
    frame.shape_symbols = list(frame.shape_symbols) if captures else []
    frame.cast_symbols = list(frame.cast_symbols) if captures else []
    frame.nesting += 1
    scope.branches += 1  # what may stand at the top level only may not stand here
    known = list(frame.symbols) if captures else inner
    symbols = relax.Var("symbols", relax.ShapeType(known))
    scope.builder.begin_scope([*(value.expr for value in formals.values), symbols])
    try:
        yield
    finally:
        scope.builder.end_scope()
        scope.branches -= 1
        frame.nesting -= 1
        frame.local_symbols = outside
        scope.values, scope.closed, scope.keep_outputs = saved[:3]
        frame.symbol_list, frame.shape_symbols, frame.cast_symbols = saved[3:]


def _fill(
    scope: Scope, body: Body, step: Step, kind: Kind, formals: _Formals, grab: Value | None
) -> tuple[Value, Signature | None]:
    """The blocks of a local function: what it gives, and what it returns when that is a closure."""
    dataflow = kind in (Kind.PLAIN, Kind.CAPTURING) and scope.index(3) == 2
    body.open(dataflow)
    scope.keep_outputs = True
    if formals.values[0].is_tuple:
        whole = formals.values[0]
        scope.emit(relax.TupleGetItem(whole.expr, 1), part_of=whole)
        first = scope.emit(relax.TupleGetItem(whole.expr, 0), part_of=whole)
    else:
        first = formals.values[0]
    kept: list[Value] = []
    if grab is not None:
        kept.append(joined(scope, first, grab))
    if kind is Kind.NESTING:
        inside = draw_kind(scope, step, Kind.CAPTURING if grab is not None else Kind.PLAIN, kept[0] if kept else first)
        kept.append(scope.emit(relax.TupleGetItem(inside.expr, 0), part_of=inside) if inside.parts else inside)
    for _ in range(scope.index(3)):
        scope.keep_outputs = scope.index(2) == 1
        step(scope, 1)
    scope.keep_outputs = True
    if not dataflow and not scope.frame.pure_only and scope.has(Feature.IMPURE_CALLS) and scope.index(6) == 5:
        impure.draw_print(scope)
    if not kept:
        kept.append(joined(scope, first, first))
    if dataflow:
        body.close()
        body.open(False)
    if kind is Kind.RETURNING:
        inner = bind(scope, step, Kind.CAPTURING, static=True, nested=True)
        result: Value = next(value for value in scope.values if value.expr.same_as(inner.var))
        body.close()
        return result, inner
    newest = next((v for v in reversed(scope.tensors()) if v.device is None), kept[0])
    result = _result(scope, kept, newest)
    body.close()
    return result, None


def _result(scope: Scope, kept: list[Value], newest: Value) -> Value:
    """What the function gives: it depends on all of ``kept``."""
    values = list(dict.fromkeys((*kept, newest)))
    if len(values) > 1 and scope.has(Feature.TUPLES) and scope.index(3) > 0:
        made = Value(as_tuple(values), relax.TupleType([value.ty for value in values]), parts=tuple(values))
        return scope.emit(made.expr, parts=made.parts) if scope.index(2) else made
    result = kept[0]
    for other in values[1:]:
        if other.dtype == result.dtype and _same_shape(other, result):
            result = joined(scope, result, other)
    return result


def _same_shape(left: Value, right: Value) -> bool:
    return left.dims is not None and right.dims is not None and str(left.dims) == str(right.dims)


def joined(scope: Scope, left: Value, right: Value) -> Value:
    """A value of the same type that depends on both, within the bounds of both."""
    if left.dtype == "bool":
        return scope.emit(op.logical_or(left.expr, right.expr), left.bounds)
    join = scope.pick((op.maximum, op.minimum))
    return scope.emit(join(left.expr, right.expr), left.known.union(right.known))
