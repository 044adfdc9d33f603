"""Gradient: callers stay as they are, and ``<f>_adjoint`` returns what ``f`` returns and the gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from oracles.calling.frame import Adapter
from relaxkit.ir.functions import is_public, relax_functions, symbol_of
from relaxkit.ir.walk import operands_of
from relaxkit.passes.arguments import GradientRequest, gradient_request

_FIRST_CLOSED = {"relax.nn.nll_loss": 1, "relax.full": 1, "relax.full_like": 1}
"""Index of the first operand without a gradient."""
ADJOINT = "_adjoint"


@dataclass(frozen=True, slots=True)
class Gradient(Adapter):
    """``f(a, b)`` stays; ``f_adjoint(a, b)`` returns ``(f(a, b), (df/da, df/db))``.

    Attributes:
        parameters: Positions of the parameters that it differentiates by, in order.
        target: Where the differentiated scalar is in what the function returns.
        open: Positions of parameters whose gradient TVM documents to be no derivative.
    """

    function: str
    adjoint: str
    parameters: tuple[int, ...]
    target: tuple[int, ...]
    open: tuple[int, ...] = ()


def adapter_of(expression: str, before: tvm.IRModule, after: tvm.IRModule) -> Gradient | None:
    """Make the adapter for what the pass has added to a module; ``None`` when nothing can be called from outside.

    A user's pass is taken to differentiate by all parameters where its text does not tell.
    """
    request = gradient_request(expression) or _seen(before, after)
    if request is None:
        return None
    function = dict(relax_functions(before)).get(request.function)
    if function is None or not is_public(function):
        return None
    wanted = request.parameters
    positions = tuple(i for i, param in enumerate(function.params) if wanted is None or param.name in wanted)
    target = (request.target,) if isinstance(function.body.body, relax.Tuple) else ()
    return Gradient(symbol_of(function), request.function + ADJOINT, positions, target, _open(function))


def _seen(before: tvm.IRModule, after: tvm.IRModule) -> GradientRequest | None:
    """Return what must have been asked for, by the adjoint that is there now."""
    old = {var.name_hint for var in before.get_global_vars()}
    new = [var.name_hint for var in after.get_global_vars() if var.name_hint not in old]
    names = [name.removesuffix(ADJOINT) for name in new if name.endswith(ADJOINT)]
    return GradientRequest(names[0], None, 0) if len(names) == 1 and names[0] in old else None


def _open(function: relax.Function) -> tuple[int, ...]:
    """Parameters whose gradient is no derivative, as documented: what reaches the target through an undifferentiated
    operand.

    ``_op_gradient.py`` says of these operands that there is no gradient for them: targets and weights of ``nll_loss``
    ("not available"), the value of ``full`` and ``full_like`` ("the gradients are no_grad").  What becomes an integer
    on the way is piecewise constant, and TVM says nothing of it.
    """
    reached: dict[Any, set[int]] = {param: {index} for index, param in enumerate(function.params)}
    lost: set[int] = set()
    for block in function.body.blocks:
        for binding in block.bindings:
            value, ty = binding.value, binding.var.ty
            sources = _sources(value, reached)
            if isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.Op):
                for operand in value.args[_FIRST_CLOSED.get(str(value.op.name), len(value.args)) :]:
                    lost |= _sources(operand, reached)
            reached[binding.var] = (
                set() if isinstance(ty, relax.TensorType) and "float" not in str(ty.dtype) else sources
            )
            if _rounds(value):
                lost |= sources
    return tuple(sorted(lost))


def _rounds(value: Any) -> bool:
    cast = isinstance(value, relax.Call) and getattr(value.op, "name", "") == "relax.astype"
    return cast and "int" in str(value.ty.dtype) and "float" in str(value.args[0].ty.dtype)


def _sources(value: Any, reached: dict[Any, set[int]]) -> set[int]:
    if isinstance(value, relax.Var):
        return reached.get(value, set())
    return set[int]().union(*(_sources(part, reached) for part in operands_of(value)))
