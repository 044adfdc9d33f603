"""Operands that do not fit together: what a kernel then does is not defined."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tvm import relax, tirx

from oracles.interpreter.errors import Undefined
from oracles.interpreter.request import Request

UNFIT = "operands that do not fit together"


def fitting(function: Callable[[Request], Any]) -> Callable[[Request], Any]:
    """An implementation that is ``Undefined`` where NumPy refuses the shapes, also known ones.

    For operators whose type inference does not compare its operands; for all others see :func:`proven`.
    """

    @functools.wraps(function)
    def computed(request: Request) -> Any:
        try:
            return function(request)
        except (ValueError, IndexError) as error:
            raise Undefined(UNFIT) from error

    return computed


def proven(call: Any) -> bool:
    """Whether all dims of a call's tensors are numbers, so that type inference has seen whether they fit together.

    Where they are not, a pass may give operands that do not (DecomposeOpsForTraining: weights of layer_norm that are
    not unsqueezed), and what kernels then read is not defined; the result may have a negative extent (``zeros`` of
    ``n - 2`` elements where ``n`` is 0).  With numbers for dims, an error of NumPy is one of ours.
    """
    operands = [each.ty for each in call.args if isinstance(each.ty, relax.TensorType)]
    result = [call.ty] if isinstance(getattr(call.ty, "shape", None), relax.ShapeExpr) else []
    return all(_in_numbers(each) for each in (*operands, *result))


def _in_numbers(ty: Any) -> bool:
    return isinstance(ty.shape, relax.ShapeExpr) and all(isinstance(dim, tirx.IntImm) for dim in ty.shape.values)
