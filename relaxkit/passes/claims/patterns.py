"""What rewriters by patterns claim, asked of a small matcher that is written from the documentation of the patterns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tvm import relax
from tvm.ir import GenericConst

from relaxkit.ir.functions import relax_functions
from relaxkit.ir.walk import places
from relaxkit.passes.claims.common import argument, both, untouched
from relaxkit.passes.contract import Harm, claimed

_COMMUTATIVE = ("relax.add", "relax.multiply")


@claimed(
    "a function without a match stays",
    'documentation of rewrite_call: "The rewritten or the input function, depending on the pattern matching result"',
    harm=Harm.LESS,
)
def changed_without_match(ran: Any) -> str:
    """Find a function that is another one although nothing in it can match the pattern."""
    pattern = argument(ran, 0, "pattern")
    for name, old, new in both(ran):
        if isinstance(old, relax.Function) and not untouched(old, new) and not list(_matches(pattern, old)):
            return f"a function without a match is another one\nchanges {name}, in which nothing matches"
    return ""


@claimed(
    "the rewriter is called on each match",
    'documentation of rewrite_call: "The function to be called on a successful matching for rewriting"',
    harm=Harm.LESS,
)
def match_missed(ran: Any) -> str:
    """Find a call that matches a pattern of operators and wildcards, but is not given to the rewriter."""
    pattern = argument(ran, 0, "pattern")
    if not _is_plain(pattern):
        return ""
    for name, function in relax_functions(ran.before):
        given: list[Any] = []
        relax.dpl.rewrite_call(pattern, lambda call, _, given=given: given.append(call) or call, function)
        for value in _matches(pattern, function):
            if len(value.args) == len(pattern.args) and not any(each.same_as(value) for each in given):
                return f"a match is not given to the rewriter\ndoes not give {value.op.name} in {name} to the rewriter"
    return ""


def _is_plain(pattern: Any) -> bool:
    """Say whether a pattern is an operator on wildcards, each another one: a call by itself says whether it matches."""
    dpl = relax.dpl.pattern
    if not isinstance(pattern, dpl.CallPattern) or not isinstance(pattern.op, dpl.ExprPattern):
        return False
    parts = list(pattern.args)
    alike = any(one.same_as(other) for at, one in enumerate(parts) for other in parts[:at])
    return bool(parts) and all(isinstance(part, dpl.WildcardPattern) for part in parts) and not alike


def _matches(pattern: Any, function: Any) -> Iterator[Any]:
    """Yield the values in a function that may match a pattern."""
    bound = {place.var: place.value for place in places(function)}
    yield from (place.value for place in places(function) if _may_match(pattern, place.value, bound))
    if _may_match(pattern, function.body.body, bound):
        yield function.body.body


def _may_match(pattern: Any, value: Any, bound: Mapping[Any, Any]) -> bool:
    """Say whether an expression may match a pattern: what is not told here from the pattern may."""
    dpl = relax.dpl.pattern
    while isinstance(value, relax.Var) and value in bound and not isinstance(pattern, dpl.VarPattern):
        value = bound[value]
    if isinstance(pattern, dpl.OrPattern):
        return _may_match(pattern.left, value, bound) or _may_match(pattern.right, value, bound)
    if isinstance(pattern, dpl.AndPattern):
        return _may_match(pattern.left, value, bound) and _may_match(pattern.right, value, bound)
    if isinstance(pattern, dpl.AttrPattern | dpl.DataTypePattern | dpl.ShapePattern | dpl.TypePattern):
        return _may_match(pattern.pattern, value, bound)
    if isinstance(pattern, dpl.ConstantPattern):
        return isinstance(value, GenericConst)
    if isinstance(pattern, dpl.TupleGetItemPattern):
        return isinstance(value, relax.TupleGetItem) and pattern.index in (-1, value.index)
    if isinstance(pattern, dpl.CallPattern) and isinstance(pattern.op, dpl.ExprPattern):
        return _may_be_call(pattern, value, bound)
    return True


def _may_be_call(pattern: Any, value: Any, bound: Mapping[Any, Any]) -> bool:
    if not isinstance(value, relax.Call) or not value.op.same_as(pattern.op.expr):
        return False
    orders = [list(value.args)] + [list(value.args)[::-1]] * (value.op.name in _COMMUTATIVE)
    parts = list(pattern.args)
    return len(parts) <= len(value.args) and any(
        all(_may_match(part, each, bound) for part, each in zip(parts, order, strict=False)) for order in orders
    )
