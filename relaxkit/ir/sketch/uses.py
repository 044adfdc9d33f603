"""Uses within a sketch: what mentions what, in which order, and replacing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tvm
from tvm import relax

from relaxkit.ir.equality import all_same
from relaxkit.ir.sketch.sketch import Binding, Branch, Func, Sketch, SketchBody
from relaxkit.ir.types import flat
from relaxkit.ir.walk import nodes

VARS = tuple({relax.Var, tvm.tirx.Var})  # one class since TVM 0.26
"""Classes of the variables of programs and of the symbolic dims."""


def is_symbol(expr: relax.Expr) -> bool:
    """Say whether an expression is a symbolic dim (or a number that a function is given)."""
    return isinstance(expr, VARS) and (not isinstance(expr, relax.Var) or isinstance(expr.ty, tvm.ir.PrimType))


def leaves(expr: relax.Expr) -> Iterator[Any]:
    """Yield the vars and global vars that an expression mentions, repeated; those inside shapes and types too."""
    if expr is None:
        return
    if isinstance(expr, (*VARS, tvm.ir.GlobalVar)):
        yield expr
    elif isinstance(expr, relax.Tuple):
        for item in expr.fields:
            yield from leaves(item)
    elif isinstance(expr, relax.TupleGetItem):
        yield from leaves(expr.tuple_value)
    elif isinstance(expr, relax.ShapeExpr):
        for item in expr.values:
            yield from leaves(item)
    elif isinstance(expr, tvm.ir.Call):
        yield from leaves(expr.op)
        for item in expr.args:
            yield from leaves(item)
        for item in expr.ty_args:
            yield from leaves_of_type(item)
    elif hasattr(expr, "a") and hasattr(expr, "b"):
        yield from leaves(expr.a)
        yield from leaves(expr.b)
    elif isinstance(expr, tvm.tirx.Cast):
        yield from leaves(expr.value)


def leaves_of_type(ty: relax.Type) -> Iterator[Any]:
    """Yield the symbolic vars that a type mentions, with repetition."""
    for leaf in flat(ty):
        if isinstance(leaf, relax.TensorType):
            yield from leaves(leaf.shape)
        elif isinstance(leaf, relax.ShapeType):
            for item in leaf.values or ():
                yield from leaves(item)


def mentions(body: SketchBody) -> Iterator[Any]:
    """Yield all that a body mentions in values, casts and results, nested bodies included."""
    for binding in body.bindings():
        yield from of_binding(binding)
    yield from leaves(body.result)


def of_binding(binding: Binding) -> Iterator[Any]:
    """Yield all that the value of a binding mentions."""
    value = binding.value
    if isinstance(value, Branch):
        yield from leaves(value.condition)
        yield from mentions(value.then)
        yield from mentions(value.otherwise)
    elif isinstance(value, Func):
        yield from mentions(value.body)
    else:
        yield from leaves(value)
    if binding.cast is not None:
        yield from leaves_of_type(binding.cast)


def uses(func: Func) -> Counter[Any]:
    """Return how often each var is mentioned in the values and results of a function."""
    return Counter(item for item in mentions(func.body) if isinstance(item, VARS))


def called(function: Any) -> list[str]:
    """Return names of the global functions that a function or a kernel mentions, each as often as it does."""
    body: Any = getattr(function, "body", None)
    found = mentions(body) if isinstance(function, Func) else nodes(body, tvm.ir.GlobalVar)[0]
    return [str(item.name_hint) for item in found if isinstance(item, tvm.ir.GlobalVar)]


def callers(sketch: Sketch) -> Counter[str]:
    """Return how often each global function is mentioned in all functions and kernels."""
    return Counter(name for function in sketch.functions.values() for name in called(function))


def callees_first(sketch: Sketch) -> list[str]:
    """Return the functions' names, each behind those that it calls; recursion is cut where it closes."""
    order: list[str] = []
    seen: set[str] = set()

    def visit(name: str) -> None:
        if name in seen or name not in sketch.functions:
            return
        seen.add(name)
        for other in sorted(called(sketch.functions[name])):
            visit(other)
        order.append(name)

    for name in sketch.functions:
        visit(name)
    return order


def used_outside_blocks(body: SketchBody, aliases: Mapping[Any, Any]) -> set[Any]:
    """Return vars that another block or the result mentions, aliases followed: those must not be dataflow vars."""
    outside = set(_followed(leaves(body.result), aliases))
    for index, block in enumerate(body.blocks):
        mentioned = set(_followed((item for binding in block.bindings for item in of_binding(binding)), aliases))
        defined = {binding.var for other in body.blocks[:index] for binding in other.bindings}
        outside |= mentioned & defined
    return outside


def _followed(items: Iterator[Any], aliases: Mapping[Any, Any]) -> Iterator[Any]:
    for item in items:
        if item in aliases:
            yield from _followed(leaves(aliases[item]), aliases)
        yield item


# Replacing leaves of expressions (constants, global vars, ...) all over a sketch, in place.

# What stands for a leaf now; a leaf that nothing stands for is its own answer.
Leaf = Callable[[Any], Any]


def replaced(expr: relax.Expr, leaf: Leaf) -> Any:
    """Replace the leaves of an expression; the same object where nothing changed. A new call has no type yet."""
    if isinstance(expr, relax.Tuple):
        fields = [replaced(item, leaf) for item in expr.fields]
        return expr if all_same(fields, expr.fields) else relax.Tuple(fields)
    if isinstance(expr, relax.TupleGetItem):
        inner = replaced(expr.tuple_value, leaf)
        return expr if inner.same_as(expr.tuple_value) else relax.TupleGetItem(inner, expr.index)
    if isinstance(expr, tvm.ir.Call):
        target, args = replaced(expr.op, leaf), [replaced(item, leaf) for item in expr.args]
        return expr if target.same_as(expr.op) and all_same(args, expr.args) else with_args(expr, args, target)
    return leaf(expr)


def with_args(call: relax.Call, args: list[Any], target: Any = None) -> Any:
    """Return a call with other arguments, without a type."""
    return tvm.ir.Call(call.op if target is None else target, args, call.attrs, list(call.ty_args))


def replace_in(sketch: Sketch, leaf: Leaf) -> None:
    """Replace leaves in all values, conditions and results of a sketch, in place."""
    for _, body, _ in sketch.bodies():
        body.result = replaced(body.result, leaf)
        for binding in body.bindings():
            if isinstance(binding.value, Branch):
                binding.value.condition = replaced(binding.value.condition, leaf)
            elif not isinstance(binding.value, Func):
                binding.value = replaced(binding.value, leaf)


def expressions(body: SketchBody) -> list[Any]:
    """Return the expressions of a body in program order without nested bodies: values, conditions, the result."""
    found = []
    for binding in body.bindings():
        if isinstance(binding.value, Branch):
            found.append(binding.value.condition)
        elif not isinstance(binding.value, Func):
            found.append(binding.value)
    return [*found, body.result]


def leaves_in(expr: relax.Expr) -> list[Any]:
    """Return the leaves of an expression as :func:`replaced` sees them, in order."""
    found: list[Any] = []

    def keep(item: Any) -> Any:
        found.append(item)
        return item

    replaced(expr, keep)
    return found
