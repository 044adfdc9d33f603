"""Effects: printing, assertions that hold, and packed calls; those of packed functions that are pure as well.

A function that has one is impure (``is_pure=False``), and so is each that calls it, unless it is declared
``relax.force_pure``.  Effects never stand in dataflow blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import relax

from strategies.scope.bounds import Bounds
from strategies.scope.features import Feature
from strategies.scope.scope import Infeasible, Scope
from strategies.scope.values import Value

op = relax.op


def draw_impure(scope: Scope) -> Value:
    """Bind a call that has an effect: it prints, asserts what holds, or calls a packed function.

    Raises:
        Infeasible: in a dataflow block, or where the function must stay pure.
    """
    way = scope.index(4)
    if way == 1:
        return draw_assert(scope)
    if way == 2:
        return draw_packed(scope)
    return draw_print(scope)


def draw_print(scope: Scope) -> Value:
    """Print a label of its own, and sometimes a value; gives a tensor that may be printed."""
    _allow(scope)
    value = scope.tensor()
    label = f"note{scope.module.next_number('note')}"
    if scope.index(2):
        _effect(scope, op.print(value.expr, format=f"{label} {{}}"))
    elif scope.index(2):
        _effect(scope, op.print(scope.shape_expr(value.shape), value.expr, format=f"{label} {{}}, {{}}"))
    else:
        _effect(scope, op.print(format=label))
    return value


def draw_assert(scope: Scope) -> Value:
    """Assert what is true of every input: a constant, or that a tensor keeps within its bounds."""
    _allow(scope)
    value = scope.tensor()
    way = scope.index(3)
    filled = all(scope.dim_range(dim)[0] > 0 for dim in value.shape)
    if way and filled and scope.module.permits("bool") and value.dtype != "bool":
        # An assertion of what is known only up to rounding could fail after a pass that reassociates.
        limit = value.known.magnitude * 1.25 + 1
        wide = scope.emit(op.astype(value.expr, "float32"), value.bounds)
        size = scope.emit(op.abs(wide.expr), Bounds(0.0, limit))
        largest = scope.emit(op.max(size.expr), Bounds(0.0, limit)) if value.rank else size
        holds = scope.emit(op.less_equal(largest.expr, relax.const(limit, "float32")), Bounds(1, 1, True))
        arguments = [largest.expr] if way == 2 else []
        _effect(scope, op.assert_op(holds.expr, arguments, format="too large: {}" if arguments else "too large"))
    else:
        _effect(scope, op.assert_op(relax.const(True, "bool"), [], format="must hold"))
    return value


def draw_packed(scope: Scope) -> Value:
    """Call a packed function that is not declared pure: one that does nothing, or one that returns its argument."""
    _allow(scope)
    value = scope.variable(scope.tensor())
    if scope.index(2):
        _effect(scope, relax.Call(relax.ExternFunc("testing.nop"), [value.expr], ty_args=[relax.TupleType([])]))
        return value
    called = relax.Call(relax.ExternFunc("testing.echo"), [value.expr], ty_args=[value.ty])
    scope.frame.impure = True
    return scope.emit(called, value.bounds)


def _allow(scope: Scope) -> None:
    if scope.in_dataflow or scope.frame.pure_only:
        raise Infeasible("an effect in a dataflow block or a pure function")


def _effect(scope: Scope, call: Any) -> None:
    """Bind a call for its effect alone: its value is of no use."""
    scope.frame.impure = True
    made = scope.emit(call, hint="effect")
    scope.values.remove(made)


# Packed calls that are declared pure, of functions that every process with TVM has.

COPY = "runtime.TVMTensorCopyFromTo"
"""Copies its first argument to its last: a function in destination-passing style for every shape and dtype."""


def draw_packed_call(scope: Scope) -> Value:
    """Bind a packed call that is pure.

    Raises:
        Infeasible: when the drawn one cannot be had.
    """
    return scope.pick(_WAYS)(scope)


def _copied(scope: Scope) -> Value:
    """Draw a copy, by destination-passing style."""
    value = scope.tensor()
    return scope.emit(relax.call_dps_packed(COPY, [value.expr], out_ty=value.ty), value.bounds)


def _shape_as_tensor(scope: Scope) -> Value:
    """Draw a shape as a tensor."""
    value = scope.tensor(ranks=(1, 2, 3, 4))
    if not scope.module.permits("int64"):
        raise Infeasible("no int64")
    ranges = [scope.dim_range(dim) for dim in value.shape]
    bounds = Bounds(min(low for low, _ in ranges), max(high for _, high in ranges), True)
    shape = scope.shape_expr(value.shape)
    ty = relax.TensorType([value.rank], "int64")
    return scope.emit(op.call_pure_packed("relax.run.shape_to_tensor", shape, ty_args=ty), bounds)


def _shape(scope: Scope) -> Value:
    """Return the shape of a tensor."""
    value = scope.variable(scope.tensor())
    ty = relax.ShapeType(list(value.shape))
    return scope.emit(op.call_pure_packed("vm.builtin.shape_of", value.expr, ty_args=ty))


def _viewed(scope: Scope) -> Value:
    """Bind the tensor with its dims in reverse, by a view of the same memory."""
    value = scope.variable(scope.tensor(ranks=(1, 2, 3)))
    dims = list(reversed(value.shape))
    ty = relax.TensorType(dims, value.dtype)
    call = op.call_pure_packed("vm.builtin.reshape", value.expr, scope.shape_expr(dims), ty_args=ty)
    return scope.emit(call, value.bounds)


def _paired(scope: Scope) -> Value:
    """Draw a tuple of two tensors."""
    if scope.forbids(Feature.TUPLES):
        raise Infeasible("no tuples")
    parts = [scope.variable(scope.tensor()) for _ in range(2)]
    ty = relax.TupleType([part.ty for part in parts])
    call = op.call_pure_packed("vm.builtin.make_tuple", *(part.expr for part in parts), ty_args=ty)
    whole = scope.emit(call, parts=[Value(None, part.ty, part.bounds) for part in parts])
    return scope.item(whole, scope.index(2))


_WAYS: tuple[Callable[[Scope], Value], ...] = (_copied, _shape_as_tensor, _shape, _viewed, _copied, _paired)
