"""Replacing leaves of expressions (constants, global vars, ...) all over a sketch, in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
from tvm import relax

from fuzzer.minimizer.sketch import Binding, Body, Branch, Func, Sketch

# What stands for a leaf now; a leaf that nothing stands for is its own answer.
Leaf = Callable[[Any], Any]


def replaced(expr: Any, leaf: Leaf) -> Any:
    """The expression with its leaves replaced; the same object where nothing changed. A new call has no type yet."""
    if isinstance(expr, relax.Tuple):
        fields = [replaced(item, leaf) for item in expr.fields]
        return expr if _same(fields, expr.fields) else relax.Tuple(fields)
    if isinstance(expr, relax.TupleGetItem):
        inner = replaced(expr.tuple_value, leaf)
        return expr if inner.same_as(expr.tuple_value) else relax.TupleGetItem(inner, expr.index)
    if isinstance(expr, tvm.ir.Call):
        target, args = replaced(expr.op, leaf), [replaced(item, leaf) for item in expr.args]
        return expr if target.same_as(expr.op) and _same(args, expr.args) else with_args(expr, args, target)
    return leaf(expr)


def with_args(call: Any, args: list[Any], target: Any = None) -> Any:
    """A call with other arguments, without a type."""
    return tvm.ir.Call(call.op if target is None else target, args, call.attrs, list(call.ty_args))


def replace_in(sketch: Sketch, leaf: Leaf) -> None:
    """Replace leaves in all values, conditions and results of a sketch, in place."""
    for _, body, _ in sketch.bodies():
        body.result = replaced(body.result, leaf)
        for binding in body.bindings():
            replace_in_binding(binding, leaf)


def replace_in_binding(binding: Binding, leaf: Leaf) -> None:
    """Replace leaves in a binding's value, in place; bodies nested in it are left alone."""
    value = binding.value
    if isinstance(value, Branch):
        value.condition = replaced(value.condition, leaf)
    elif not isinstance(value, Func):
        binding.value = replaced(value, leaf)


def expressions(body: Body) -> list[Any]:
    """The expressions of a body in program order, those of nested bodies left out: values, conditions, the result."""
    found = []
    for binding in body.bindings():
        if isinstance(binding.value, Branch):
            found.append(binding.value.condition)
        elif not isinstance(binding.value, Func):
            found.append(binding.value)
    return [*found, body.result]


def leaves_in(expr: Any) -> list[Any]:
    """The leaves of an expression as :func:`replaced` sees them, in order."""
    found: list[Any] = []

    def keep(item: Any) -> Any:
        found.append(item)
        return item

    replaced(expr, keep)
    return found


def _same(new: list[Any], old: Any) -> bool:
    return len(new) == len(old) and all(left.same_as(right) for left, right in zip(new, old, strict=True))
