"""Types that say less than TVM infers: every point of the lattice of tensor types, for any binding and any operand.

A declared type may say less than the one inferred, and a ``match_cast`` may forget what is known. Both are well formed;
what is behind them needs a ``match_cast`` to know again.
"""

from __future__ import annotations

from typing import Any

from tvm import relax
from tvm.ir import Op

from relaxkit.ir.types import flat
from strategies.scope.choices import Choices

KINDS = 5
"""Points of the lattice of tensor types above one of which all is known."""


def vague(choices: Choices, ty: Any) -> Any:
    """Draw a type that says less of a tensor, or of the tensors in a tuple."""
    if isinstance(ty, relax.TupleType):
        return relax.TupleType([vague(choices, field) for field in ty.fields])
    if not isinstance(ty, relax.TensorType) or ty.ndim < 0 or ty.dtype is None:
        return ty
    way = choices.index(KINDS)
    dtype = None if way in (2, 3) else ty.dtype
    if way == 4:
        return relax.TensorType(ty.shape, None, ty.vdevice)
    return relax.TensorType(None, dtype, ty.vdevice, ndim=-1 if way in (1, 3) else ty.ndim)


def is_tensor(ty: Any) -> bool:
    """Say whether a type is that of a tensor of which all is known."""
    return isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr) and ty.dtype is not None


def is_known(ty: Any) -> bool:
    """Say whether a type is that of such tensors alone, and of one at least."""
    return bool(flat(ty)) and all(is_tensor(each) for each in flat(ty))


def says_less(ty: Any, than: Any) -> bool:
    """Say whether a type knows less of some tensor than another."""
    pairs = list(zip(flat(ty), flat(than), strict=False))
    return any(is_tensor(known) and not is_tensor(other) for other, known in pairs)


_CRASHING = frozenset({"relax.nn.attention", "relax.nn.attention_bias", "relax.nn.attention_var_len"})
"""Operators whose type inference reads the shape of an operand that has none: the process dies (``attention.cc``)."""


def with_vague_operands(
    choices: Choices, builder: Any, call: Any, *, together: bool = False
) -> list[tuple[tuple[int, ...], Any]]:
    """Draw the operands of an operator's call that it still takes when less is known of them, with their types.

    Args:
        choices: Decides.
        builder: Normalizes: what it refuses, the operator does not take.
        call: A normalized call.
        together: Whether a variable that is given twice stays one operand (``add(x, x)``).

    Returns:
        Places among :func:`call_operands`, each time of one operand, with the type that says less.
    """
    if not isinstance(call.op, Op) or call.op.name in _CRASHING or call.op.name.startswith("relax.call_"):
        return []
    given = call_operands(call)
    places = [index for index, arg in enumerate(given) if isinstance(arg, relax.Var) and is_known(arg.ty)]
    if not places:
        return []
    alike = [
        tuple(at for at in places if at == place or (together and given[at].same_as(given[place]))) for place in places
    ]
    operands = list(dict.fromkeys(alike))
    chosen = [(operand, vague(choices, given[operand[0]].ty)) for operand in choices.subset(operands[:8])]
    for operand, ty in chosen:
        variable = relax.Var("vague", ty)
        for place in operand:
            given[place] = variable
    try:
        made = builder.normalize(with_operands(call, given))
    except Exception:  # TVM refuses in several ways what an operator does not take
        return []
    found, known = flat(made.ty), flat(call.ty)
    return chosen if len(found) == len(known) and all(map(_may_be, found, known)) else []


def _may_be(ty: Any, known: Any) -> bool:
    """Say whether what a call gives may be what it is known to give: a type that contradicts it cannot be cast."""
    tensor = isinstance(ty, relax.TensorType)
    return tensor and ty.ndim in (-1, known.ndim) and (ty.dtype is None or ty.dtype == known.dtype)


def call_operands(call: Any) -> list[Any]:
    """List the operands of a call; of a tuple that is written in it, the fields."""
    return [each for arg in call.args for each in (arg.fields if isinstance(arg, relax.Tuple) else (arg,))]


def with_operands(call: Any, given: list[Any]) -> Any:
    """Return the call with other operands in the places of :func:`call_operands`."""
    rest = iter(given)
    arguments = [
        relax.Tuple([next(rest) for _ in arg.fields]) if isinstance(arg, relax.Tuple) else next(rest)
        for arg in call.args
    ]
    return relax.Call(call.op, arguments, call.attrs, call.ty_args)
