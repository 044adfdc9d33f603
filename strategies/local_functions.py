"""Local functions: closures bound inside a function, with and without captured values."""

from __future__ import annotations

from tvm import relax

from strategies.bounds import Bounds
from strategies.scope import Scope, Unfit
from strategies.values import Value

op = relax.op


def draw_local(scope: Scope) -> Value:
    """Bind a local function and a call of it (never inside a dataflow block); static shapes only.

    A local function shares the scope of symbolic dims with its surroundings, so dims of its own would need care that
    no pass is known to need.
    """
    if scope.module.strict and scope.module.vdevices:
        raise Unfit("RealizeVDevice gives local functions types that their calls have not")
    value = scope.tensor(dtypes=("float32", "int32", "float64"), static=True)
    other = scope.tensor_like(value)
    builder = scope.builder
    parameter = relax.Var("a", relax.TensorType(list(value.dims or ()), value.dtype))
    # LambdaLift gives the call of a capturing closure the type Any, which some legalizations refuse.
    captures = not scope.module.strict and scope.index(2) == 1
    builder.begin_scope([parameter])
    builder._begin_binding_block()
    right = other.expr if captures else parameter
    inner = builder.emit(op.maximum(parameter, right), "b")
    result = builder.emit(op.minimum(inner, parameter), "c")
    block = builder._end_block()
    body = builder.normalize(relax.SeqExpr([block], result))
    builder.end_scope()
    function = scope.emit(relax.Function([parameter], body), hint="inner")
    bounds = None
    if value.bounds is not None and other.bounds is not None:
        bounds = value.bounds.union(other.bounds)
    called = scope.emit(relax.Call(function.expr, [value.expr]), bounds or Bounds(-4, 4))
    if scope.index(3) == 2:
        return scope.emit(relax.Call(function.expr, [other.expr]), bounds or Bounds(-4, 4))
    return called
