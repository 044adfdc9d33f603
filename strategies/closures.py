"""Closures: returned by local or private functions and called by the caller, and made of functions of the module."""

from __future__ import annotations

from tvm import relax

from strategies.calls import arguments_for, called, may_call
from strategies.features import Feature
from strategies.frame import Signature
from strategies.local_functions import Kind, Step, bind, draw_kind
from strategies.scope import Scope, Unfit
from strategies.values import Value

op = relax.op


def draw_capturing(scope: Scope, step: Step) -> Value:
    """A local function that uses a value of its surroundings, and a call of it."""
    return draw_kind(scope, step, Kind.CAPTURING)


def draw_nested(scope: Scope, step: Step) -> Value:
    """A local function inside a local function, both of them called."""
    return draw_kind(scope, step, Kind.NESTING)


def draw_returned(scope: Scope, step: Step) -> Value:
    """A local function that returns a closure, which its caller calls.

    Where local functions may not be nested, the closure is that of an earlier private function.

    Raises:
        Unfit: when there is none.
    """
    if not scope.forbids(Feature.NESTED_CLOSURES):
        return draw_kind(scope, step, Kind.RETURNING)
    makers = [s for s in scope.module.callables if s.returns is not None and may_call(scope, s)]
    if not makers:
        raise Unfit("no function returns a closure, and local functions may not be nested")
    callee = makers[-1 - scope.index(len(makers))]
    return called(scope, callee, scope.emit(relax.Call(callee.var, arguments_for(scope, callee))))


def made_here(scope: Scope, step: Step) -> tuple[Value, Signature]:
    """A closure for the function under construction to return; its parameters have static shapes."""
    signature = bind(scope, step, Kind.CAPTURING, static=True)
    return Value(signature.var, signature.var.ty), signature


def draw_made(scope: Scope) -> Value:
    """``make_closure`` of a function of the module with its last arguments, and a call with the others.

    Raises:
        Unfit: when no function fits.
    """
    known = [
        s
        for s in scope.module.callables
        if s.depth < scope.frame.deepest and not s.typed and s.returns is None and s.parameters and may_call(scope, s)
    ]
    if not known:
        raise Unfit("no function to make a closure of")
    return _made_of(scope, known[-1 - scope.index(len(known))])


def ensure_made(scope: Scope) -> Value:
    """As :func:`draw_made`, of a new private function when none of the module fits."""
    try:
        return draw_made(scope)
    except Unfit:
        if scope.module.function_room <= 0:
            raise
        scope.module.function_room -= 1
        value = scope.tensor(static=True)
        ty = relax.TensorType(list(value.dims or ()), value.dtype)
        parameters = tuple(Value(relax.Var(name, ty), ty, value.bounds) for name in "ab")
        builder = scope.builder
        builder.begin_scope([parameter.expr for parameter in parameters])
        builder._begin_binding_block()
        join = op.logical_or if value.dtype == "bool" else op.maximum
        result = builder.emit(join(*(parameter.expr for parameter in parameters)))
        sequence = builder.normalize(relax.SeqExpr([builder._end_block()], result))
        builder.end_scope()
        function = relax.Function([parameter.expr for parameter in parameters], sequence)
        var = builder.add_func(function, "lifted")
        return _made_of(scope, Signature(var, parameters, Value(None, ty, value.bounds), {}, {}, private=True))


def _made_of(scope: Scope, callee: Signature) -> Value:
    """The closure of a function, and its call."""
    arguments = arguments_for(scope, callee)
    captured = 1 + scope.index(len(arguments))
    given, held = arguments[:-captured], arguments[-captured:]
    ty = scope.builder.normalize(relax.Call(callee.var, arguments)).ty
    closure = scope.emit(op.make_closure(callee.var, relax.Tuple(held)), hint="closure")
    scope.values.remove(closure)  # of type R.Any: nothing else can be done with it
    effect = callee.impure or _wants_effect(scope)
    scope.frame.impure = scope.frame.impure or effect
    invoke = op.invoke_closure if effect else op.invoke_pure_closure
    return called(scope, callee, scope.emit(invoke(closure.expr, relax.Tuple(given), ty_args=ty)))


def _wants_effect(scope: Scope) -> bool:
    """Whether to use ``invoke_closure``, which counts as impure whatever the closure does."""
    allowed = scope.has(Feature.IMPURE_CALLS) and not scope.in_dataflow and not scope.frame.pure_only
    return allowed and scope.index(3) == 2
