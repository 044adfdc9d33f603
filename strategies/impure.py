"""Effects: printing, assertions that hold, and packed calls that are not declared pure.

A function that has one is impure (``is_pure=False``), and so is each that calls it, unless it is declared
``relax.force_pure``.  Effects never stand in dataflow blocks.
"""

from __future__ import annotations

from typing import Any

from tvm import relax

from strategies.bounds import Bounds
from strategies.scope import Scope, Unfit
from strategies.values import Value

op = relax.op


def draw_impure(scope: Scope) -> Value:
    """Bind a call that has an effect: it prints, asserts what holds, or calls a packed function.

    Raises:
        Unfit: in a dataflow block, or where the function must stay pure.
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
        _effect(scope, op.print(scope.shape_expr(value.dims or ()), value.expr, format=f"{label} {{}}, {{}}"))
    else:
        _effect(scope, op.print(format=label))
    return value


def draw_assert(scope: Scope) -> Value:
    """Assert what is true of every input: a constant, or that a tensor keeps within its bounds."""
    _allow(scope)
    value = scope.tensor()
    way = scope.index(3)
    filled = all(scope.dim_range(dim)[0] > 0 for dim in value.dims or ())
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
        raise Unfit("an effect in a dataflow block or a pure function")


def _effect(scope: Scope, call: Any) -> None:
    """Bind a call for its effect alone: its value is of no use."""
    scope.frame.impure = True
    made = scope.emit(call, hint="effect")
    scope.values.remove(made)
