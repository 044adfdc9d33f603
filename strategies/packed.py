"""Packed calls, declared pure, of functions that every process with TVM has."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax

from strategies.bounds import Bounds
from strategies.features import Feature
from strategies.scope import Scope, Unfit
from strategies.values import Value

op = relax.op

COPY = "runtime.TVMTensorCopyFromTo"
"""Copies its first argument to its last: a function in destination-passing style for every shape and dtype."""


def draw_packed_call(scope: Scope) -> Value:
    """Bind a packed call that is pure.

    Raises:
        Unfit: when the drawn one cannot be had.
    """
    return scope.pick(_WAYS)(scope)


def _copied(scope: Scope) -> Value:
    """A copy, by destination-passing style."""
    value = scope.tensor()
    return scope.emit(relax.call_dps_packed(COPY, [value.expr], out_ty=value.ty), value.bounds)


def _shape_as_tensor(scope: Scope) -> Value:
    """A shape as a tensor."""
    value = scope.tensor(ranks=(1, 2, 3, 4))
    if not scope.module.permits("int64"):
        raise Unfit("no int64")
    ranges = [scope.dim_range(dim) for dim in value.dims or ()]
    bounds = Bounds(min(low for low, _ in ranges), max(high for _, high in ranges), True)
    shape = scope.shape_expr(value.dims or ())
    ty = relax.TensorType([value.rank], "int64")
    return scope.emit(op.call_pure_packed("relax.run.shape_to_tensor", shape, ty_args=ty), bounds)


def _shape(scope: Scope) -> Value:
    """The shape of a tensor."""
    value = scope.variable(scope.tensor())
    ty = relax.ShapeType(list(value.dims or ()))
    return scope.emit(op.call_pure_packed("vm.builtin.shape_of", value.expr, ty_args=ty))


def _viewed(scope: Scope) -> Value:
    """The tensor with its dims in reverse, by a view of the same memory."""
    value = scope.variable(scope.tensor(ranks=(1, 2, 3)))
    dims = list(reversed(value.dims or ()))
    ty = relax.TensorType(dims, value.dtype)
    call = op.call_pure_packed("vm.builtin.reshape", value.expr, scope.shape_expr(dims), ty_args=ty)
    return scope.emit(call, value.bounds)


def _paired(scope: Scope) -> Value:
    """A tuple of two tensors."""
    if scope.forbids(Feature.TUPLES):
        raise Unfit("no tuples")
    parts = [scope.variable(scope.tensor()) for _ in range(2)]
    ty = relax.TupleType([part.ty for part in parts])
    call = op.call_pure_packed("vm.builtin.make_tuple", *(part.expr for part in parts), ty_args=ty)
    whole = scope.emit(call, parts=[Value(None, part.ty, part.bounds) for part in parts])
    return scope.emit(relax.TupleGetItem(whole.expr, scope.index(2)), part_of=whole)


_WAYS: tuple[Callable[[Scope], Value], ...] = (_copied, _shape_as_tensor, _shape, _viewed, _copied, _paired)
