"""Idioms of functions: private ones to inline or slim, local ones to lift, and parameters known early."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import relax, tirx

from strategies import weights as weight_steps
from strategies.bounds import Bounds
from strategies.features import Feature
from strategies.idioms.idiom import Idiom, NearMiss, Place
from strategies.idioms.parts import UNIT, dims, floats, hidden, less, operand
from strategies.scope import Scope, Unfit
from strategies.values import Dim, Value, same_dim

op = relax.op

Body = Callable[[list[Any], Callable[[Any], Any]], Any]
"""The result of a function's body from its parameters and what binds a call in it."""


def _types(scope: Scope, values: Sequence[Value]) -> list[Any]:
    """Types of the values with symbolic dims of their own."""
    known: list[Dim] = []
    names: list[Any] = []

    def renamed(dim: Dim) -> Dim:
        if isinstance(dim, int):
            return dim
        for index, other in enumerate(known):
            if same_dim(other, dim):
                return names[index]
        known.append(dim)
        names.append(tirx.Var(f"d{len(names)}", "int64"))
        return names[-1]

    return [relax.TensorType([renamed(dim) for dim in dims(value)], value.dtype) for value in values]


def _function(scope: Scope, name: str, types: Sequence[Any], body: Body, public: bool = False) -> Any:
    """Add a function with parameters of the types, its body one dataflow block; gives its global variable."""
    if scope.module.function_room <= 0:
        raise Unfit("no room for a function")
    scope.module.function_room -= 1
    builder = scope.builder
    parameters = [relax.Var(f"a{index}", ty) for index, ty in enumerate(types)]
    builder.begin_scope(parameters)
    builder._begin_dataflow_block()
    result = body(list(parameters), builder.emit)
    fields = list(result.fields) if isinstance(result, relax.Tuple) else [result]
    outputs = [builder.emit_output(field) for field in fields]
    block = builder._end_block()
    returned = relax.Tuple(outputs) if isinstance(result, relax.Tuple) else outputs[0]
    sequence = builder.normalize(relax.SeqExpr([block], returned))
    builder.end_scope()
    function = relax.Function(parameters, sequence)
    # Numbered for both kinds: the builder would number a second one itself, and the symbol would be another.
    name = f"{name}{scope.module.next_number(name) or ''}"
    if public:
        function = function.with_attr("global_symbol", name)
    var = builder.add_func(function, name)
    scope.frame.depth = max(scope.frame.depth, 2)
    return var


def _operands(scope: Scope) -> tuple[Value, Value]:
    if scope.frame.device is not None:
        raise Unfit("the parameters of a typed function are bound to a device")
    value = floats(scope, bounds=UNIT)
    return value, operand(scope, dims(value), value)


_SUM = Bounds(-4.0625, 4.0625)


def private_call(scope: Scope) -> Value:
    """A call of a private function of two operators, all of whose parameters and outputs are used."""
    a, b = _operands(scope)
    var = _function(scope, "inlined", _types(scope, [a, b]), lambda p, emit: op.add(emit(op.abs(p[0])), p[1]))
    return scope.emit(relax.Call(var, [a.expr, b.expr]), _SUM)


def public_call(scope: Scope) -> Value:
    """A call of a public function."""
    a, b = _operands(scope)
    var = _function(scope, "shared", _types(scope, [a, b]), lambda p, emit: op.add(emit(op.abs(p[0])), p[1]), True)
    return scope.emit(relax.Call(var, [a.expr, b.expr]), _SUM)


def private_calls_nested(scope: Scope) -> Value:
    """A private function that calls another one, twice."""
    a, b = _operands(scope)
    types = _types(scope, [a, b])
    inner = _function(scope, "innermost", types, lambda p, emit: op.minimum(emit(op.abs(p[0])), p[1]))
    outer = _types(scope, [a, b])

    def body(p: list[Any], emit: Callable[[Any], Any]) -> Any:
        first = emit(relax.Call(inner, [p[0], p[1]]))
        return relax.Call(inner, [p[1], first])

    var = _function(scope, "outer", outer, body)
    scope.frame.depth = max(scope.frame.depth, 3)
    return scope.emit(relax.Call(var, [a.expr, b.expr]), UNIT)


def tuple_argument(scope: Scope) -> Value:
    """A private function that takes a tuple and uses its fields."""
    a, b = _operands(scope)
    ty = relax.TupleType(_types(scope, [a, b]))
    var = _function(
        scope, "packed", [ty], lambda p, emit: op.subtract(emit(relax.TupleGetItem(p[0], 0)), emit(_get(p[0], 1)))
    )
    whole = scope.emit(relax.Tuple([a.expr, b.expr]), parts=[a, b])
    return scope.emit(relax.Call(var, [whole.expr]), _SUM)


def _get(value: Any, index: int) -> Any:
    return relax.TupleGetItem(value, index)


def tuple_to_public(scope: Scope) -> Value:
    """A public function that takes a tuple."""
    a, b = _operands(scope)
    ty = relax.TupleType(_types(scope, [a, b]))
    var = _function(scope, "taking", [ty], lambda p, emit: op.subtract(emit(_get(p[0], 0)), emit(_get(p[0], 1))), True)
    whole = scope.emit(relax.Tuple([a.expr, b.expr]), parts=[a, b])
    return scope.emit(relax.Call(var, [whole.expr]), _SUM)


def unused_parameter(scope: Scope) -> Value:
    """A private function that uses its second parameter alone."""
    a, b = _operands(scope)
    other = floats(scope, bounds=UNIT)
    var = _function(scope, "slim", _types(scope, [other, b]), lambda p, emit: op.negative(p[1]))
    del a
    return scope.emit(relax.Call(var, [other.expr, b.expr]), UNIT)


def unused_in_public(scope: Scope) -> Value:
    """A public function that uses its second parameter alone."""
    a, b = _operands(scope)
    var = _function(scope, "wide", _types(scope, [a, b]), lambda p, emit: op.negative(p[1]), True)
    return scope.emit(relax.Call(var, [a.expr, b.expr]), UNIT)


def _pair(p: list[Any], emit: Callable[[Any], Any]) -> Any:
    return relax.Tuple([op.negative(p[0]), op.abs(p[1])])


def _two_results(scope: Scope, public: bool = False) -> Value:
    a, b = _operands(scope)
    var = _function(scope, "twofold", _types(scope, [a, b]), _pair, public)
    parts = [Value(None, a.ty, UNIT), Value(None, b.ty, UNIT)]
    return scope.emit(relax.Call(var, [a.expr, b.expr]), parts=parts)


def unused_output(scope: Scope) -> Value:
    """A private function that gives two results, of which one is taken."""
    whole = _two_results(scope)
    made = scope.emit(_get(whole.expr, scope.index(2)), part_of=whole)
    scope.values.remove(whole)
    return made


def both_outputs(scope: Scope) -> Value:
    """A private function both of whose results are taken."""
    whole = _two_results(scope)
    return less(scope, *(scope.emit(_get(whole.expr, index), part_of=whole) for index in range(2)))


def output_of_public(scope: Scope) -> Value:
    """A public function that gives two results, of which one is taken."""
    whole = _two_results(scope, public=True)
    made = scope.emit(_get(whole.expr, 0), part_of=whole)
    scope.values.remove(whole)
    return made


def local_function(scope: Scope) -> Value:
    """A function bound inside the function, with or without something captured, and its call."""
    if scope.module.vdevices:
        raise Unfit("RealizeVDevice gives local functions types that their calls have not")
    if scope.frame.nesting and not scope.has(Feature.NESTED_CLOSURES):
        raise Unfit("local functions may not be nested")
    value = floats(scope, static=True, bounds=UNIT)
    other = operand(scope, dims(value), value)
    # LambdaLift gives the call of a capturing closure the type Any, which some legalizations refuse.
    captures = not scope.executable and scope.has(Feature.CAPTURES) and scope.index(2) == 1
    builder = scope.builder
    parameter = relax.Var("a", relax.TensorType(list(dims(value)), value.dtype))
    builder.begin_scope([parameter])
    builder._begin_binding_block()
    first = builder.emit(op.maximum(parameter, other.expr if captures else parameter), "b")
    result = builder.emit(op.negative(first), "c")
    body = builder.normalize(relax.SeqExpr([builder._end_block()], result))
    builder.end_scope()
    function = hidden(scope, scope.emit(relax.Function([parameter], body), hint="local"))
    return scope.emit(relax.Call(function.expr, [value.expr]), UNIT)


def explicit_dims(scope: Scope) -> Value:
    """A private function that speaks of its own symbolic dims, as legalized ones do."""
    value = scope.tensor(
        dtypes=("float32",), ranks=(1, 2), bounds=UNIT, where=lambda v: bool(v.dims) and scope.is_static(v)
    )
    if scope.frame.device is not None:
        raise Unfit("the parameters of a typed function are bound to a device")
    types = [relax.TensorType([tirx.Var("d0", "int64"), *dims(value)[1:]], value.dtype)]

    def body(p: list[Any], emit: Callable[[Any], Any]) -> Any:
        shape = relax.ShapeExpr(list(types[0].shape.values))
        return op.add(p[0], emit(op.full(shape, relax.const(1, "float32"), "float32")))

    var = _function(scope, "sized", types, body)
    return scope.emit(relax.Call(var, [value.expr]), Bounds(-1.0625, 3.0625))


def weight_work(scope: Scope) -> Value:
    """Work on weights alone, whose result meets an input."""
    made = weight_steps.draw_weight_work(scope)
    if made.dtype not in ("float32", "float64", "float16", "int32", "int64"):
        return made
    other = scope.tensor(dtypes=(made.dtype,), shape=dims(made), bounds=Bounds(-2.0, 2.0))
    return scope.emit(op.maximum(made.expr, other.expr), made.known.union(other.known))


_CALLS = (Feature.MULTIPLE_FUNCTIONS, Feature.PRIVATE_CALLS)

ROWS = (
    Idiom("private_call", private_call, ("InlinePrivateFunctions",), (NearMiss("public", public_call),), needs=_CALLS),
    Idiom("nested_calls", private_calls_nested, ("InlinePrivateFunctions",), needs=_CALLS),
    Idiom("explicit_dims", explicit_dims, ("InlinePrivateFunctions",), needs=(*_CALLS, Feature.SYMBOLIC_SHAPES)),
    Idiom(
        "tuple_argument",
        tuple_argument,
        ("ExpandTupleArguments",),
        (NearMiss("public", tuple_to_public),),
        needs=(*_CALLS, Feature.TUPLES),
    ),
    Idiom(
        "unused_parameter",
        unused_parameter,
        ("RemoveUnusedParameters",),
        (NearMiss("public", unused_in_public), NearMiss("all_used", private_call)),
        needs=(*_CALLS, Feature.UNUSED_PARAMETERS),
    ),
    Idiom(
        "unused_output",
        unused_output,
        ("RemoveUnusedOutputs",),
        (NearMiss("public", output_of_public), NearMiss("all_used", both_outputs)),
        needs=(*_CALLS, Feature.TUPLES, Feature.UNUSED_OUTPUTS),
    ),
    Idiom(
        "local_function",
        local_function,
        ("LambdaLift",),
        (NearMiss("private", private_call, needs=_CALLS),),
        needs=(Feature.LOCAL_FUNCTIONS,),
        place=Place.ORDINARY,
    ),
    Idiom(
        "weight_work",
        weight_work,
        ("LiftTransformParams", "LazyTransformParams"),
        needs=(Feature.WEIGHTS,),
        top_level=True,
    ),
)
