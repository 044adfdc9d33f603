"""Planted bugs in the legalization of operators, registered in the process of the test in place of TVM's.

A module and what passes make of it are lowered by the same legalization, so no comparison of the two shows them: only
the documentation does.  The clean twins are other formulas of the same function.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import te, tirx, topi

from relaxkit.runtime import run

FLEGALIZE = "FLegalize"
Legalize = Callable[[Any, Any, Callable[[Any, Any], Any]], Any]
"""Of a builder, a call and TVM's own legalization: what the call becomes."""


@dataclass(frozen=True)
class Flawed:
    """An operator that is legalized wrongly.

    Attributes:
        id: What is wrong, in a few words.
        operator: Its name.
        wrong: The legalization with the bug.
        right: One without.
        within: It must be caught within so many modules of that operator.
    """

    id: str
    operator: str
    wrong: Legalize
    right: Legalize
    within: int = 12


@contextlib.contextmanager
def registered(operator: str, legalize: Legalize) -> Iterator[None]:
    """Within it, the operator has that legalization, and nothing is remembered of the one before."""
    op = tvm.ir.Op.get(operator)
    original = op.get_attr(FLEGALIZE)

    def changed(builder: Any, call: Any) -> Any:
        return legalize(builder, call, original)

    op.reset_attr(FLEGALIZE)
    op.set_attr(FLEGALIZE, changed)
    run._sessions.append(run.Session())
    try:
        yield
    finally:
        run._sessions.pop()
        op.reset_attr(FLEGALIZE)
        op.set_attr(FLEGALIZE, original)


def _te(function: Callable[..., Any]) -> Legalize:
    """The operands of the call through a function of tensors; what it refuses, TVM legalizes."""

    def legalize(builder: Any, call: Any, original: Callable[[Any, Any], Any]) -> Any:
        made = function(call)
        return original(builder, call) if made is None else _named(builder, made, *call.args)

    return legalize


def _named(builder: Any, function: Callable[..., Any], *operands: Any) -> Any:
    return builder.call_te(function, *operands, primfunc_name_hint="planted")


def _float(call: Any, *dtypes: str) -> bool:
    return str(call.ty.dtype) in (dtypes or ("float32", "float64"))


def _swapped(call: Any) -> Any:
    """Takes subtraction for commutative."""
    return lambda x, y: topi.subtract(y, x)


def _negated(call: Any) -> Any:
    return (lambda x, y: topi.add(x, topi.negative(y))) if _float(call) else None


def _half_exp(call: Any) -> Any:
    """The exponential function of float32 in float16."""
    if not _float(call, "float32"):
        return None
    return lambda x: topi.cast(topi.exp(topi.cast(x, "float16")), "float32")


def _double_exp(call: Any) -> Any:
    if not _float(call, "float32"):
        return None
    return lambda x: topi.cast(topi.exp(topi.cast(x, "float64")), "float32")


def _truncated(call: Any) -> Any:
    """Floor division of integers towards zero."""
    if not str(call.ty.dtype).startswith("int"):
        return None
    return lambda x, y: topi.divide(x, y)


def _floored(call: Any) -> Any:
    if not str(call.ty.dtype).startswith("int"):
        return None
    return lambda x, y: topi.floor_divide(x, y)


def _not_itself(call: Any) -> Any:
    """NaN as what is not equal to itself, which TVM's code generator does not compute."""
    return lambda x: te.compute(x.shape, lambda *at: tirx.NE(x(*at), x(*at)))


def _itself_not(call: Any) -> Any:
    return lambda x: te.compute(x.shape, lambda *at: tirx.isnan(x(*at)))


def _last_true(call: Any) -> Any:
    """Takes the second operand where the condition holds, for one element only: the last."""

    def made(condition: Any, left: Any, right: Any) -> Any:
        whole = topi.where(condition, left, right)
        other = topi.where(condition, right, left)
        ends = [dim - 1 for dim in whole.shape]
        return te.compute(
            whole.shape,
            lambda *at: tirx.if_then_else(
                tirx.all(*[i == e for i, e in zip(at, ends, strict=True)]), other(*at), whole(*at)
            ),
        )

    return made if _ranked(call) else None


def _plain_where(call: Any) -> Any:
    return (lambda condition, left, right: topi.where(condition, left, right)) if _ranked(call) else None


def _ranked(call: Any) -> bool:
    return int(call.ty.ndim) > 0 and all(hasattr(arg.ty, "ndim") for arg in call.args)


def _other_axis(builder: Any, call: Any, original: Callable[[Any, Any], Any]) -> Any:
    """The reverse of the first axis, whichever is asked for."""
    return _named(builder, lambda x: topi.flip(x, 0), call.args[0])


def _that_axis(builder: Any, call: Any, original: Callable[[Any, Any], Any]) -> Any:
    return _named(builder, lambda x: topi.flip(x, int(call.attrs.axis)), call.args[0])


def _from_minus_hundred(builder: Any, call: Any, original: Callable[[Any, Any], Any]) -> Any:
    """Never less than -100: wrong only for what no input of the default domain has."""
    if not _float(call):
        return original(builder, call)
    made = builder.emit(original(builder, call))
    return _named(builder, lambda x: topi.maximum(x, tirx.const(-100.0, x.dtype)), made)


def _again(builder: Any, call: Any, original: Callable[[Any, Any], Any]) -> Any:
    if not _float(call):
        return original(builder, call)
    made = builder.emit(original(builder, call))
    return _named(builder, lambda x: topi.maximum(x, x), made)


LEGALIZATIONS = (
    Flawed("subtraction back to front", "relax.subtract", _te(_swapped), _te(_negated)),
    Flawed("exponential in half precision", "relax.exp", _te(_half_exp), _te(_double_exp), 30),
    Flawed("floor division towards zero", "relax.floor_divide", _te(_truncated), _te(_floored), 40),
    Flawed("NaN is equal to itself", "relax.isnan", _te(_not_itself), _te(_itself_not), 40),
    Flawed("one element of where", "relax.where", _te(_last_true), _te(_plain_where), 40),
    Flawed("flip of the first axis", "relax.flip", _other_axis, _that_axis, 20),
    Flawed("greatest number from -100 on", "relax.negative", _from_minus_hundred, _again, 60),
)
