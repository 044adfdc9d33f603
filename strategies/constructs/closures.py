"""Closures: returned by local or private functions and called by the caller, and made of functions of the module."""

from __future__ import annotations

from tvm import relax

from strategies.constructs.calls import arguments_for, called, may_call
from strategies.constructs.local_functions import LocalKind, Step, bind, draw_kind
from strategies.scope.emitter import block_function
from strategies.scope.features import Feature
from strategies.scope.frame import CalleeSignature
from strategies.scope.scope import Infeasible, Scope
from strategies.scope.values import Value

op = relax.op


def draw_returned(scope: Scope, step: Step) -> Value:
    """Draw a local function that returns a closure, which its caller calls.

    Where local functions may not be nested, the closure is that of an earlier private function.

    Raises:
        Infeasible: when there is none.
    """
    if not scope.forbids(Feature.NESTED_CLOSURES):
        return draw_kind(scope, step, LocalKind.RETURNING)
    makers = [s for s in scope.module.callables if s.returns is not None and may_call(scope, s)]
    if not makers:
        raise Infeasible("no function returns a closure, and local functions may not be nested")
    callee = makers[-1 - scope.index(len(makers))]
    return called(scope, callee, scope.emit(relax.Call(callee.var, arguments_for(scope, callee))))


def made_here(scope: Scope, step: Step) -> tuple[Value, CalleeSignature]:
    """Draw a closure for the function under construction to return; its parameters have static shapes."""
    signature = bind(scope, step, LocalKind.CAPTURING, static=True)
    return Value(signature.var, signature.var.ty), signature


def draw_made(scope: Scope) -> Value:
    """Draw ``make_closure`` of a function of the module with its last arguments, and a call with the others.

    Raises:
        Infeasible: when no function fits.
    """
    known = [
        s
        for s in scope.module.callables
        if s.depth < scope.frame.deepest and not s.typed and s.returns is None and s.parameters and may_call(scope, s)
    ]
    if not known:
        raise Infeasible("no function to make a closure of")
    return _made_of(scope, known[-1 - scope.index(len(known))])


def ensure_made(scope: Scope) -> Value:
    """Do as :func:`draw_made`, with a new private function when none of the module fits."""
    try:
        return draw_made(scope)
    except Infeasible:
        scope.module.take_room()
        value = scope.tensor(static=True)
        ty = relax.TensorType(list(value.shape), value.dtype)
        parameters = tuple(Value(relax.Var(name, ty), ty, value.bounds) for name in "ab")
        variables = [parameter.expr for parameter in parameters]
        join = op.logical_or if value.dtype == "bool" else op.maximum
        function = block_function(scope.builder, variables, lambda emit: emit(join(*variables)), dataflow=False)
        var = scope.builder.add_func(function, "lifted")
        return _made_of(scope, CalleeSignature(var, parameters, Value(None, ty, value.bounds), {}, {}, private=True))


def _made_of(scope: Scope, callee: CalleeSignature) -> Value:
    """Return the closure of a function, and its call."""
    arguments = arguments_for(scope, callee)
    captured = 1 + scope.index(len(arguments))
    given, held = arguments[:-captured], arguments[-captured:]
    ty = scope.builder.normalize(relax.Call(callee.var, arguments)).ty
    closure = scope.emit(op.make_closure(callee.var, relax.Tuple(held)), hint="closure")
    scope.values.remove(closure)  # of type R.Any: nothing else can be done with it
    # ``invoke_closure`` counts as impure whatever the closure does.
    allowed = scope.has(Feature.IMPURE_CALLS) and not scope.in_dataflow and not scope.frame.pure_only
    effect = callee.impure or (allowed and scope.index(3) == 2)
    scope.frame.impure = scope.frame.impure or effect
    invoke = op.invoke_closure if effect else op.invoke_pure_closure
    return called(scope, callee, scope.emit(invoke(closure.expr, relax.Tuple(given), ty_args=ty)))
