"""Idioms of functions: private ones to inline or slim, local ones to lift, and parameters known early."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tvm import relax, tirx

from strategies.constructs import weights as weight_steps
from strategies.idioms.idiom import BlockKind, IdiomTable
from strategies.idioms.parts import UNIT, floats, hidden, operand, subtracted
from strategies.scope.bounds import Bounds
from strategies.scope.emitter import add_function, block_function
from strategies.scope.features import Feature
from strategies.scope.scope import Infeasible, Scope
from strategies.scope.values import OwnDims, Value

op = relax.op

Body = Callable[[list[Any], Callable[[Any], Any]], Any]
"""The result of a function's body from its parameters and what binds a call in it."""


_SUM = Bounds(-4.0625, 4.0625)


_CALLS = (Feature.MULTIPLE_FUNCTIONS, Feature.PRIVATE_CALLS)

TABLE = IdiomTable()


def _function(scope: Scope, name: str, types: Sequence[Any], body: Body, public: bool = False) -> Any:
    """Add a function with parameters of the types, its body one dataflow block; gives its global variable."""
    scope.module.take_room()
    parameters = [relax.Var(f"a{index}", ty) for index, ty in enumerate(types)]
    var = add_function(scope, name, parameters, lambda emit: body(parameters, emit), public=public)
    scope.frame.depth = max(scope.frame.depth, 2)
    return var


def _operands(scope: Scope) -> tuple[Value, Value]:
    scope.frame.require_host()
    value = floats(scope, bounds=UNIT)
    return value, operand(scope, value.shape, value)


def _called(scope: Scope, name: str, body: Body, bounds: Bounds, public: bool = False) -> Value:
    """Draw a call of a new function of two tensors of one type."""
    a, b = _operands(scope)
    var = _function(scope, name, OwnDims().types([a, b]), body, public)
    return scope.emit(relax.Call(var, [a.expr, b.expr]), bounds)


@TABLE.idiom("InlinePrivateFunctions", needs=_CALLS)
def private_call(scope: Scope, public: bool = False) -> Value:
    """Plant a call of a private function of two operators, all of whose parameters and outputs are used."""
    name = "shared" if public else "inlined"
    return _called(scope, name, lambda p, emit: op.add(emit(op.abs(p[0])), p[1]), _SUM, public)


TABLE.near_miss("public")(partial(private_call, public=True))


@TABLE.idiom("InlinePrivateFunctions", needs=_CALLS)
def nested_calls(scope: Scope) -> Value:
    """Plant a private function that calls another one, twice."""
    a, b = _operands(scope)
    types = OwnDims().types([a, b])
    inner = _function(scope, "innermost", types, lambda p, emit: op.minimum(emit(op.abs(p[0])), p[1]))
    outer = OwnDims().types([a, b])

    def body(p: list[Any], emit: Callable[[Any], Any]) -> Any:
        first = emit(relax.Call(inner, [p[0], p[1]]))
        return relax.Call(inner, [p[1], first])

    var = _function(scope, "outer", outer, body)
    scope.frame.depth = max(scope.frame.depth, 3)
    return scope.emit(relax.Call(var, [a.expr, b.expr]), UNIT)


@TABLE.idiom("InlinePrivateFunctions", needs=(*_CALLS, Feature.SYMBOLIC_SHAPES))
def explicit_dims(scope: Scope) -> Value:
    """Plant a private function that speaks of its own symbolic dims, as legalized ones do."""
    value = scope.tensor(dtypes=("float32",), ranks=(1, 2), bounds=UNIT, where=lambda v: bool(v.dims) and v.is_static)
    scope.frame.require_host()
    types = [relax.TensorType([tirx.Var("d0", "int64"), *value.shape[1:]], value.dtype)]

    def body(p: list[Any], emit: Callable[[Any], Any]) -> Any:
        shape = relax.ShapeExpr(list(types[0].shape.values))
        return op.add(p[0], emit(op.full(shape, relax.const(1, "float32"), "float32")))

    var = _function(scope, "sized", types, body)
    return scope.emit(relax.Call(var, [value.expr]), Bounds(-1.0625, 3.0625))


@TABLE.idiom("ExpandTupleArguments", needs=(*_CALLS, Feature.TUPLES))
def tuple_argument(scope: Scope, public: bool = False) -> Value:
    """Plant a private function that takes a tuple and uses its fields."""
    a, b = _operands(scope)
    ty = relax.TupleType(OwnDims().types([a, b]))

    def body(p: list[Any], emit: Callable[[Any], Any]) -> Any:
        return op.subtract(*(emit(relax.TupleGetItem(p[0], index)) for index in range(2)))

    var = _function(scope, "taking" if public else "packed", [ty], body, public)
    whole = scope.emit(relax.Tuple([a.expr, b.expr]), parts=[a, b])
    return scope.emit(relax.Call(var, [whole.expr]), _SUM)


TABLE.near_miss("public")(partial(tuple_argument, public=True))


@TABLE.idiom("RemoveUnusedParameters", needs=(*_CALLS, Feature.UNUSED_PARAMETERS))
def unused_parameter(scope: Scope) -> Value:
    """Plant a private function that uses its second parameter alone."""
    _, b = _operands(scope)
    other = floats(scope, bounds=UNIT)
    var = _function(scope, "slim", OwnDims().types([other, b]), lambda p, emit: op.negative(p[1]))
    return scope.emit(relax.Call(var, [other.expr, b.expr]), UNIT)


@TABLE.near_miss("public")
def unused_in_public(scope: Scope) -> Value:
    """Plant a public function that uses its second parameter alone."""
    return _called(scope, "wide", lambda p, emit: op.negative(p[1]), UNIT, public=True)


TABLE.near_miss("all_used")(private_call)


def _two_results(scope: Scope, public: bool = False) -> Value:
    a, b = _operands(scope)
    types = OwnDims().types([a, b])
    var = _function(scope, "twofold", types, lambda p, emit: relax.Tuple([op.negative(p[0]), op.abs(p[1])]), public)
    parts = [Value(None, a.ty, UNIT), Value(None, b.ty, UNIT)]
    return scope.emit(relax.Call(var, [a.expr, b.expr]), parts=parts)


@TABLE.idiom("RemoveUnusedOutputs", needs=(*_CALLS, Feature.TUPLES, Feature.UNUSED_OUTPUTS))
def unused_output(scope: Scope, public: bool = False) -> Value:
    """Plant a private function that gives two results, of which one is taken."""
    whole = _two_results(scope, public)
    made = scope.item(whole, 0 if public else scope.index(2))
    scope.values.remove(whole)
    return made


TABLE.near_miss("public")(partial(unused_output, public=True))


@TABLE.near_miss("all_used")
def both_outputs(scope: Scope) -> Value:
    """Plant a private function both of whose results are taken."""
    whole = _two_results(scope)
    return subtracted(scope, *(scope.item(whole, index) for index in range(2)))


@TABLE.idiom("LambdaLift", needs=(Feature.LOCAL_FUNCTIONS,), place=BlockKind.ORDINARY)
def local_function(scope: Scope) -> Value:
    """Plant a function bound inside the function, with or without something captured, and its call."""
    if scope.module.vdevices:
        raise Infeasible("RealizeVDevice gives local functions types that their calls have not")
    if scope.frame.nesting and not scope.has(Feature.NESTED_CLOSURES):
        raise Infeasible("local functions may not be nested")
    value = floats(scope, static=True, bounds=UNIT)
    other = operand(scope, value.shape, value)
    # LambdaLift gives the call of a capturing closure the type Any, which some legalizations refuse.
    captures = not scope.executable and scope.has(Feature.CAPTURES) and scope.index(2) == 1
    parameter = relax.Var("a", relax.TensorType(list(value.shape), value.dtype))
    held = other.expr if captures else parameter

    def body(emit: Callable[..., Any]) -> Any:
        return emit(op.negative(emit(op.maximum(parameter, held), "b")), "c")

    local = block_function(scope.builder, [parameter], body, dataflow=False)
    function = hidden(scope, scope.emit(local, hint="local"))
    return scope.emit(relax.Call(function.expr, [value.expr]), UNIT)


TABLE.near_miss("private", needs=_CALLS)(private_call)


@TABLE.idiom("LiftTransformParams", "LazyTransformParams", needs=(Feature.WEIGHTS,), top_level=True)
def weight_work(scope: Scope) -> Value:
    """Plant work on weights alone, whose result meets an input."""
    made = weight_steps.draw_weight_work(scope)
    if made.dtype not in ("float32", "float64", "float16", "int32", "int64"):
        return made
    other = scope.tensor(dtypes=(made.dtype,), shape=made.shape, bounds=Bounds(-2.0, 2.0))
    return scope.emit(op.maximum(made.expr, other.expr), made.known.union(other.known))
