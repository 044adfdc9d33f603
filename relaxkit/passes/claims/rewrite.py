"""Postconditions of the passes that replace operators: legalization, precision, layouts, decomposition, dispatch,
gradients (``relaxkit.passes.contracts.rewrite``)."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from string import ascii_uppercase
from typing import Any

from tvm import relax
from tvm.ir import GenericConst, Op

from relaxkit.ir.functions import is_public, relax_functions
from relaxkit.ir.operator_facts import LAYOUTS, PRECISIONS
from relaxkit.ir.types import dims_of, flat, static_dims
from relaxkit.ir.walk import is_constant, operator_has, operator_of, operators_called, places
from relaxkit.passes.claims.common import argument, both, functions_changed, placed, untouched
from relaxkit.passes.contract import Harm, claimed, nothing_left


@claimed(
    "no operator that legalizes is left",
    "its documentation: legalize high-level operator calls; skipped where shapes are unknown",
)
def legalizable_left(ran: Any) -> str:
    """Find an operator that has a legalization, with the shapes that it needs, and was not to be skipped."""
    skipped = {str(name) for name in argument(ran, 1, "skip_ops") or ()}
    skipped |= {str(name) for name in argument(ran, 0, "customize_legalize_map") or ()}
    for name, place in placed(ran.after):
        value = place.value
        operator = operator_of(value)
        if not operator or operator in skipped:
            continue
        known = knows_operands(value) and (operator_has(operator, "FDataDependent") or _known(value))
        legal = known and operator_has(operator, "FLegalize") and not declined(value)
        if legal or operator_has(operator, "FCallPacked"):
            return f"{operator} is left\nleaves {operator} in {name}"
    return ""


def declined(call: Any) -> bool:
    """Say whether the operator's legalization, asked again, gives the call back as it is, and logs why.

    One that gives a call back without a word leaves it behind silently, and that is no excuse.

    Which calls these are is written in the legalizations alone (relax/transform/legalize_ops: layouts, dilations), and
    releases differ: 0.25 also gives back every dropout, dilated transposed convolutions, unknown numbers of channels.
    """
    said = _AnythingLogged()
    root = logging.getLogger()
    level = root.level
    root.addHandler(said)
    root.setLevel(logging.INFO)  # where they say it
    try:
        return bool(call.op.get_attr("FLegalize")(relax.BlockBuilder(), call).same_as(call)) and said.anything
    except Exception:
        return False  # LegalizeOps, if it had asked, would have raised as well
    finally:
        root.setLevel(level)
        root.removeHandler(said)


class _AnythingLogged(logging.Handler):
    """A handler that notes whether anything was logged."""

    anything = False

    def emit(self, record: logging.LogRecord) -> None:
        self.anything = True


def knows_operands(call: Any) -> bool:
    """Say whether the shapes of a call's operands are known, so that it can be legalized."""
    return all(map(_known, call.args))


def _known(value: Any) -> bool:
    """Say whether LegalizeOps knows the shape of a value (KnowAllShapeValues of legalize_ops.cc)."""
    shaped = (relax.TensorType, relax.ShapeType)
    return all(
        dims_of(leaf) is not None if isinstance(leaf, shaped) else type(leaf).__name__ == "PrimType"
        for leaf in flat(value.ty)
    )


@claimed("no other operator goes", "its documentation: operators without legalization are kept")
def unlegalized_lost(ran: Any) -> str:
    """Find an operator without any legalization that is called less often than before.

    With devices the pass ends with DeadCodeElimination, and nothing is claimed.
    """
    if "vdevice" in ran.before.global_infos or argument(ran, 0, "customize_legalize_map"):
        return ""
    before, after = operators_called(ran.before), operators_called(ran.after)
    for name in sorted(before):
        if after[name] < before[name] and not operator_has(name, "FLegalize") and not operator_has(name, "FCallPacked"):
            return f"an operator without legalization is called less often\ndrops a call to {name}"
    return ""


_FOLDED = frozenset(
    f"relax.{name}" for name in ("add", "subtract", "multiply", "maximum", "minimum", "abs", "negative", "nn.relu")
)
MOST_FOLDED = 1024  # elements


@nothing_left(
    "no simple call over constants is left", "its documentation: fold constant expressions within dataflow blocks"
)
def foldable_left(ran: Any) -> str:
    """Find a simple elementwise operator over constants of usual types that is left in a dataflow block.

    Only operators of which it is certain that they become one kernel, which the pass can build and run.
    """
    for name, place in placed(ran.after):
        value = place.value
        if not place.dataflow or place.local or operator_of(value) not in _FOLDED:
            continue
        if all(is_constant(item) and _usual(item) for item in value.args) and _usual(value):
            return f"a call over constants is left\nleaves {operator_of(value)} over constants in {name}"
    return ""


def _usual(value: Any) -> bool:
    dims = static_dims(value.ty)
    usual = dims is not None and str(value.ty.dtype) in ("float32", "int32", "int64")
    return usual and 0 < math.prod(dims or ()) <= MOST_FOLDED


@claimed(
    "operands of narrow operators are narrow",
    "its documentation: the policy kAlways; src/relax/transform/to_mixed_precision.cc",
)
def wide_operand_left(ran: Any) -> str:
    """Find an operand of type float32 of an operator that is always computed in float16, in a dataflow block."""
    for name, place in placed(ran.after):
        value = place.value
        if not place.dataflow or not (operator := operator_of(value)) or not _always_narrow(operator):
            continue
        for operand in value.args:
            if isinstance(operand.ty, relax.TensorType) and str(operand.ty.dtype) == "float32":
                return f"{operator} has an operand of single precision\nleaves {operator} in {name} a float32 operand"
    return ""


def _always_narrow(operator: str) -> bool:
    """Say whether the policy of an operator is kAlways, which is 0."""
    policy = Op.get(operator).get_attr("TMixedPrecisionPolicy")
    return policy is not None and int(policy) == 0


_MEANINGFUL = (
    "strides", "padding", "dilation", "groups", "data_layout", "kernel_layout", "out_layout",
    "scale", "causal_mask", "window_size",
)  # fmt: skip


@claimed("narrow operators keep their attributes", "its documentation: it changes element types", Harm.WRONG)
def narrowed_otherwise(ran: Any) -> str:
    """Say whether operators that are always computed in float16 have lost attributes other than ``out_dtype``."""
    before, after = _configured(ran.before), _configured(ran.after)
    for key in sorted(before - after):
        other = next((each for each in after - before if each[0] == key[0]), key)
        names = [name for name, old, new in zip(_MEANINGFUL, key[1:], other[1:], strict=True) if old != new]
        return f"{key[0]} has lost an attribute\nchanges {', '.join(names)} of {key[0]}"
    return ""


def _configured(module: Any) -> Counter[tuple[str, ...]]:
    counted: Counter[tuple[str, ...]] = Counter()
    for _, place in placed(module):
        value = place.value
        if operator_of(value) and _always_narrow(operator_of(value)):
            counted[_meaning(value)] += 1
    return counted


def _meaning(call: Any) -> tuple[str, ...]:
    return operator_of(call), *(str(getattr(call.attrs, key, None)) for key in _MEANINGFUL)


def inferred_otherwise(call: Any) -> bool:
    """Say whether the function by which an operator infers its mixed precision gives another call than it takes.

    src/relax/transform/to_mixed_precision.cc calls it for the dtypes of what the operator gives; each that is always
    computed in float16 must have one.
    """
    if (infer := call.op.get_attr(PRECISIONS)) is None:
        return _always_narrow(operator_of(call))
    made = infer(call, "float16")
    return _meaning(made) != _meaning(call) or len(made.args) != len(call.args)


def laid_out_otherwise(call: Any) -> bool:
    """Say whether the function by which an operator infers its layouts gives some that its result cannot have.

    That is one layout for a tuple, several for a tensor, or one of other axes than the tensor has: A, B, and so on.

    src/relax/transform/convert_layout.cc calls it, and nests the layouts as the type is nested.
    """
    (layout,) = call.op.get_attr(LAYOUTS)(call, {}, {}).output_layouts
    if hasattr(layout, "layout") == isinstance(call.ty, relax.TupleType):
        return True
    axes = {axis for axis in getattr(getattr(layout, "layout", None), "name", "") if axis.isupper()}
    return bool(axes) and (axes != {*ascii_uppercase[: len(axes)]} or call.ty.ndim not in (-1, len(axes)))


@nothing_left(
    "convolutions have the layouts asked for",
    "its documentation of desired_layouts; tests/python/relax/test_transform_convert_layout.py",
)
def other_layout_left(ran: Any) -> str:
    """Find a convolution in a dataflow block with other layouts than those asked for, which permute axes only."""
    asked = argument(ran, 0, "desired_layouts", {})
    if argument(ran, 1, "layout_cb") is not None:
        return ""
    for name, place in placed(ran.after):
        value = place.value
        layouts = [str(layout) for layout in asked.get(operator_of(value), ())]
        if not place.dataflow or not layouts or not all(layout.isalpha() for layout in layouts):
            continue
        if any(getattr(operand.ty, "ndim", -1) < 0 for operand in value.args):
            continue
        found = [str(value.attrs.data_layout), str(value.attrs.kernel_layout)]
        if found[: len(layouts)] != layouts[:2]:
            return f"a convolution has other layouts than asked for\nleaves {name} the layouts {found}, not {layouts}"
    return ""


def composite_left(ran: Any, names: Iterable[str]) -> str:
    """Find an operator that is decomposed, left in the function that was named, or anywhere when none was."""
    named = argument(ran, 0, "func_name")
    wanted = frozenset(names)
    for name, function in relax_functions(ran.after):
        if named is not None and name != str(named):
            continue
        for place in places(function):
            if (operator := operator_of(place.value)) in wanted:
                return f"{operator} is left\nleaves {operator} in {name}"
    return ""


_MOST_PRODUCTS = 9


@claimed("what the check refuses stays", "its documentation of check")
def refused_yet_changed(ran: Any) -> str:
    """Say whether CombineParallelMatmul combines anything though its check refuses everything.

    A check that looks at the number of products refuses some only: one that accepts any number is not judged.
    """
    check = argument(ran, 0, "check")
    if check is None or any(check(None, [None] * count, [None] * count, {}) for count in range(_MOST_PRODUCTS)):
        return ""
    # Fewer products may be dead code that is dropped; combined ones are concatenated and taken apart.
    if operators_called(ran.after) - operators_called(ran.before):
        return "products are combined though the check refuses\ncombines products though its check refuses"
    return functions_changed(ran)


@claimed("no Relax function comes or goes", "its documentation: kernels only are added")
def relax_functions_changed(ran: Any) -> str:
    """Say whether a Relax function is gone or new, where kernels may come.

    Where it makes kernels for devices it ends with DeadCodeElimination, which drops private functions that nothing
    calls (src/relax/transform/legalize_ops.cc).
    """
    before, after = [dict(relax_functions(module)) for module in (ran.before, ran.after)]
    stays = "vdevice" not in ran.before.global_infos
    if gone := sorted(name for name in {*before} - {*after} if stays or is_public(before[name])):
        return f"a Relax function is gone\ndrops {', '.join(gone)}"
    new = sorted({*after} - {*before})
    return f"a Relax function is new\nadds {', '.join(new)}" if new else ""


# Rewriters by patterns, asked of a small matcher that is written from the documentation of the patterns.

_COMMUTATIVE = ("relax.add", "relax.multiply")


@claimed(
    "a function without a match stays",
    'documentation of rewrite_call: "The rewritten or the input function, depending on the pattern matching result"',
    harm=Harm.LESS,
    shown='tvm.ir.assert_structural_equal(After["{name}"], Before["{name}"], map_free_vars=True)',
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
        for value in _matches(pattern, function):  # also a variable, which is returned
            called = isinstance(value, relax.Call) and len(value.args) == len(pattern.args)
            if called and not any(each.same_as(value) for each in given):
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
