"""Local functions: bound inside a function, called there, with and without captured values."""

from __future__ import annotations

import contextlib
import enum
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tvm import relax, tirx

from relaxkit.ir.dims import symbols_of
from strategies.constructs import impure
from strategies.constructs.calls import call
from strategies.scope.body import FunctionBody
from strategies.scope.bounds import default_bounds
from strategies.scope.features import Feature
from strategies.scope.frame import CalleeSignature, setting
from strategies.scope.results import as_tuple
from strategies.scope.scope import Infeasible, Scope
from strategies.scope.values import Dim, Value

op = relax.op

MAX_NESTING = 2
"""Local functions inside one another."""

Step = Callable[[Scope, int], None]


class LocalKind(enum.Enum):
    """The kinds of local functions."""

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
    """Take no step, for a body of what its kind needs alone."""


def draw_local(scope: Scope, step: Step = no_step) -> Value:
    """Bind a local function and a call of it, or another call of one at hand; never inside a dataflow block.

    ``step(scope, depth)`` emits something in its body.
    """
    known = [frame for value in scope.values if (frame := scope.frame.closures.get(value.expr)) is not None]
    if known and scope.index(3) == 2:
        return call(scope, known[-1 - scope.index(len(known))])
    kinds = [LocalKind.PLAIN]
    if scope.has(Feature.CAPTURES):
        kinds.append(LocalKind.CAPTURING)
    if scope.has(Feature.NESTED_CLOSURES) and scope.frame.nesting < MAX_NESTING - 1:
        kinds.append(LocalKind.NESTING)
        if scope.has(Feature.RETURNED_CLOSURES):
            kinds.append(LocalKind.RETURNING)
    return draw_kind(scope, step, scope.pick(kinds))


def draw_kind(scope: Scope, step: Step, kind: LocalKind, like: Value | None = None) -> Value:
    """Bind a local function of a kind and a call of it, sometimes two; ``like`` is what it may be called with."""
    function = bind(scope, step, kind, like=like)
    value = call(scope, function)
    return call(scope, function) if scope.index(3) == 2 else value


def bind(
    scope: Scope, step: Step, kind: LocalKind, *, static: bool = False, nested: bool = False, like: Value | None = None
) -> CalleeSignature:
    """Bind a local function.

    Args:
        scope: Where it is bound.
        step: ``step(scope, depth)`` emits something in its body.
        kind: What it is to be.
        static: Whether its parameters have static shapes.
        nested: Whether it may be inside another one, whatever the features say.
        like: A tensor that its first parameter fits.

    Raises:
        Infeasible: when no local function may be here.
    """
    frame = scope.frame
    if scope.module.strict and scope.module.vdevices:
        raise Infeasible("RealizeVDevice gives local functions types that their calls have not")
    nested = nested or scope.has(Feature.NESTED_CLOSURES)
    if frame.nesting >= MAX_NESTING or (frame.nesting and not nested):
        raise Infeasible("local functions are nested too deep")
    if scope.in_dataflow:
        raise Infeasible("a local function in a dataflow block")
    captures = kind is not LocalKind.PLAIN and scope.has(Feature.CAPTURES)
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
        body = FunctionBody(scope)
        try:
            result, returns = _fill(scope, body, step, kind, formals, grab)
        except Infeasible:
            body.abandon()
            frame.impure = impurity
            raise
        sequence = scope.builder.normalize(body.sequence(result.expr))
        effect, frame.impure = frame.impure, impurity
    function = relax.Function([value.expr for value in formals.values], sequence, is_pure=not effect)
    value = scope.emit(function, hint="inner")
    ranges = {new: frame.symbols[new] for new in formals.own.values()}
    signature = CalleeSignature(
        value.expr, formals.values, result, ranges, {}, depth=0, impure=effect, shared=formals.shared, returns=returns
    )
    frame.closures[value.expr] = signature
    return signature


def _formals(scope: Scope, outer: list[Value], kind: LocalKind) -> _Formals:
    """Return a parameter like each outer value: with the same symbolic dims, or with its own that stand for any."""
    generic = kind is LocalKind.PLAIN and scope.index(3) == 2
    own: dict[Any, Any] = {}
    values = []
    for number, value in enumerate(outer):
        dims = value.shape
        if generic and _is_plain(value):
            dims = tuple(_own(scope, own, dim) for dim in dims)
        ty = relax.TensorType(list(dims), value.dtype)
        bounds = value.known.union(default_bounds(value.dtype))
        values.append(Value(relax.Var("abcd"[number], ty), ty, bounds))
    shared = dict.fromkeys(
        symbol for value in values for dim in value.shape for symbol in symbols_of(dim) if symbol not in own.values()
    )
    if scope.has(Feature.TUPLES) and len(values) == 2 and not own and scope.index(3) == 2:
        tuple_type = relax.TupleType([value.ty for value in values])
        parts = tuple(Value(None, value.ty, value.bounds) for value in values)
        return _Formals((Value(relax.Var("t", tuple_type), tuple_type, parts=parts),), tuple(shared), own)
    return _Formals(tuple(values), tuple(shared), own)


def _is_liftable(symbols: frozenset[Any] | None, value: Value) -> bool:
    """Say whether LambdaLift lifts a local function with such a parameter, where ``symbols`` are those at hand."""
    if not _is_plain(value):
        return False
    return symbols is None or all(isinstance(dim, int) or dim in symbols for dim in value.shape)


def _is_plain(value: Value) -> bool:
    """Say whether every dim is a number or a symbol alone, in each part of a tuple."""
    if value.parts:
        return all(_is_plain(part) for part in value.parts)
    return value.dims is None or all(isinstance(dim, (int, tirx.Var)) for dim in value.dims)


def _own(scope: Scope, own: dict[Any, Any], dim: Dim) -> Dim:
    if isinstance(dim, int):
        return dim
    if dim not in own:
        own[dim] = scope.frame.new_symbol(scope.dim_range(dim))
    return own[dim]


@contextlib.contextmanager
def _inside(scope: Scope, formals: _Formals, before: list[Value], captures: bool) -> Iterator[None]:
    """List the scope as the body of a local function sees it; afterwards as it was."""
    frame = scope.frame
    inner = [*formals.own.values(), *formals.shared]
    known = list(frame.symbols) if captures else inner
    # What may stand at the top level only may not stand here: it counts as a branch.
    values, branches = [*before, *formals.values], scope.branches + 1
    with (
        setting(scope, values=values, closed=True, keep_outputs=scope.keep_outputs, branches=branches),
        setting(
            frame,
            nesting=frame.nesting + 1,
            local_symbols=frozenset(inner),
            symbol_list=frame.symbol_list + inner if captures else inner,
            shape_symbols=list(frame.shape_symbols) if captures else [],
            cast_symbols=list(frame.cast_symbols) if captures else [],
        ),
    ):
        symbols = relax.Var("symbols", relax.ShapeType(known))
        scope.builder.begin_scope([*(value.expr for value in formals.values), symbols])
        try:
            yield
        finally:
            scope.builder.end_scope()


def _fill(
    scope: Scope, body: FunctionBody, step: Step, kind: LocalKind, formals: _Formals, grab: Value | None
) -> tuple[Value, CalleeSignature | None]:
    """Return the blocks of a local function: what it gives, and what it returns when that is a closure."""
    dataflow = kind in (LocalKind.PLAIN, LocalKind.CAPTURING) and scope.index(3) == 2
    body.open(dataflow)
    scope.keep_outputs = True
    if formals.values[0].is_tuple:
        whole = formals.values[0]
        scope.item(whole, 1)
        first = scope.item(whole, 0)
    else:
        first = formals.values[0]
    kept: list[Value] = []
    if grab is not None:
        kept.append(joined(scope, first, grab))
    if kind is LocalKind.NESTING:
        inside = draw_kind(
            scope, step, LocalKind.CAPTURING if grab is not None else LocalKind.PLAIN, kept[0] if kept else first
        )
        kept.append(scope.item(inside, 0) if inside.parts else inside)
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
    if kind is LocalKind.RETURNING:
        inner = bind(scope, step, LocalKind.CAPTURING, static=True, nested=True)
        result: Value = next(value for value in scope.values if value.expr.same_as(inner.var))
        body.close()
        return result, inner
    newest = next((v for v in reversed(scope.tensors()) if v.device is None), kept[0])
    result = _result(scope, kept, newest)
    body.close()
    return result, None


def _result(scope: Scope, kept: list[Value], newest: Value) -> Value:
    """Return what the function gives: it depends on all of ``kept``."""
    values = list(dict.fromkeys((*kept, newest)))
    if len(values) > 1 and scope.has(Feature.TUPLES) and scope.index(3) > 0:
        made = Value(as_tuple(values), relax.TupleType([value.ty for value in values]), parts=tuple(values))
        return scope.emit(made.expr, parts=made.parts) if scope.index(2) else made
    result = kept[0]
    for other in values[1:]:
        if other.dtype == result.dtype and (
            other.dims is not None and result.dims is not None and str(other.dims) == str(result.dims)
        ):
            result = joined(scope, result, other)
    return result


def joined(scope: Scope, left: Value, right: Value) -> Value:
    """Draw a value of the same type that depends on both, within the bounds of both."""
    if left.dtype == "bool":
        return scope.emit(op.logical_or(left.expr, right.expr), left.bounds)
    join = scope.pick((op.maximum, op.minimum))
    return scope.emit(join(left.expr, right.expr), left.known.union(right.known))
