"""Questions about a sketch: what uses what, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import tvm
from tvm import relax

from fuzzer.minimizer.sketch import Binding, Body, Branch, Func, Sketch

VARS = tuple({relax.Var, tvm.tirx.Var})  # one class since TVM 0.26
"""Classes of the variables of programs and of the symbolic dims."""


def is_symbol(expr: Any) -> bool:
    """Whether an expression is a symbolic dim (or a number that a function is given)."""
    return isinstance(expr, VARS) and (not isinstance(expr, relax.Var) or isinstance(expr.ty, tvm.ir.PrimType))


def leaves(expr: Any) -> Iterator[Any]:
    """The vars and global vars that an expression mentions, with repetition; those inside shapes and types too."""
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


def leaves_of_type(ty: Any) -> Iterator[Any]:
    """The symbolic vars that a type mentions, with repetition."""
    if isinstance(ty, relax.TensorType):
        yield from leaves(ty.shape)
    elif isinstance(ty, relax.TupleType):
        for item in ty.fields:
            yield from leaves_of_type(item)
    elif isinstance(ty, relax.ShapeType) and ty.values is not None:
        for item in ty.values:
            yield from leaves(item)


def mentions(body: Body) -> Iterator[Any]:
    """All that a body mentions in values, casts and results, nested bodies included."""
    for binding in body.bindings():
        yield from of_binding(binding)
    yield from leaves(body.result)


def of_binding(binding: Binding) -> Iterator[Any]:
    """All that the value of a binding mentions."""
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
    """How often each var is mentioned in the values and results of a function."""
    return Counter(item for item in mentions(func.body) if isinstance(item, VARS))


def called(func: Func) -> set[str]:
    """Names of the global functions that a function mentions."""
    return {str(item.name_hint) for item in mentions(func.body) if isinstance(item, tvm.ir.GlobalVar)}


def callers(sketch: Sketch) -> Counter[str]:
    """How often each global function is mentioned in all functions."""
    return Counter(
        str(item.name_hint)
        for func in sketch.relax_functions().values()
        for item in mentions(func.body)
        if isinstance(item, tvm.ir.GlobalVar)
    )


def callees_first(sketch: Sketch) -> list[str]:
    """The functions' names, each behind those that it calls; recursion is cut where it closes."""
    order: list[str] = []
    seen: set[str] = set()

    def visit(name: str) -> None:
        if name in seen or name not in sketch.functions:
            return
        seen.add(name)
        func = sketch.functions[name]
        if isinstance(func, Func):
            for other in sorted(called(func)):
                visit(other)
        order.append(name)

    for name in sketch.functions:
        visit(name)
    return order


def used_outside_blocks(body: Body, aliases: Mapping[Any, Any]) -> set[Any]:
    """Vars that another block or the result mentions, aliases followed: those must not be dataflow vars."""
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
