"""Is a program defined on inputs from outside the domain that modules are drawn for?

Two things must hold.  No part of the module hides what it does from the reference interpreter: a kernel may cast NaN to
an integer, divide by an empty dim, or read from an empty tensor, and the interpreter, which runs it as it is, would not
see.  And the interpreter, which reads the module as it was given, in operators, comes to a result of which it says that
it is defined.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx

from oracles.measure.comparison import compare, is_floating, kinds_of
from oracles.measure.decisions import casts_to_integer
from oracles.measure.input_variations import SPECIAL, Variation
from relaxkit.compat.shims import type_key
from relaxkit.interpreter import Interpreter, Raised, Undefined, Unsupported
from relaxkit.interpreter.registry import Request
from relaxkit.ir.lowered import buffers_of
from relaxkit.runtime.values import Value, arrays_in

# What computes out of sight: functions outside of the module, and bits of a float that are read as an integer.
_HIDDEN = (type_key(relax.ExternFunc), "relax.memory.view", "reinterpret")
# What may have elements where an operand has none, and takes them from another one.
_COPYING = frozenset(
    f"relax.{name}" for name in ("concat", "stack", "scatter_elements", "scatter_nd", "slice_scatter", "index_put")
)
_DIVISIONS = tuple(type_key(kind) for kind in (tirx.FloorDiv, tirx.FloorMod, tirx.Div, tirx.Mod))


def result_of(
    module: tvm.IRModule, text: str, function: str, arguments: tuple[Any, ...], variation: Variation
) -> Value:
    """Run a module, as it was given and not yet prepared, by the reference interpreter; ``text`` is its JSON.

    Raises:
        Undefined: The module is not known to be defined on these arguments.
    """
    if reason := hides(module, text, variation):
        raise Undefined(reason)
    observer = _refuse_reduction_of_nothing if variation is Variation.NO_ELEMENTS else None
    try:
        result: Value = Interpreter(module, observer=observer).call(function, arguments)
    except (Unsupported, Raised) as error:
        raise Undefined(str(error)) from error
    return result


def refusal(module: tvm.IRModule, function: str, arguments: tuple[Any, ...]) -> str:
    """Why the interpreter cannot say what a call gives; empty where it can, or raises as the program does."""
    try:
        Interpreter(module).call(function, arguments)
    except (Undefined, Unsupported) as error:
        return str(error)
    except Raised:
        return ""
    return ""


def _refuse_reduction_of_nothing(request: Request, result: Any) -> None:
    """Raise ``Undefined`` where an operator makes elements of none, and does not copy them from another operand.

    A reduction over an empty axis, as TVM 0.27 legalizes it, does not write its output (case
    legalize-sum-empty-symbolic).  Poison shows that of the heap; within a kernel (mean, std, whatever is fused) the
    output is on the stack, and what it holds there may agree by chance with what is documented.
    """
    given, made = ([array.size for array in arrays_in(each)] for each in (list(request.args), result))
    if request.name not in _COPYING and 0 in given and any(made):
        raise Undefined("reduction over nothing")


def alike(left: Value, right: Value) -> bool:
    """Say whether two results have the same form, the same integers, and NaN and infinities at the same places.

    Where TVM treats a special value otherwise than its documentation says, a pass may go by either.
    """
    return compare(_kinds(left), _kinds(right)) is None


def _kinds(value: Value) -> Value:
    """Return a result with the kinds of floats in their place."""
    if isinstance(value, tuple):
        return tuple(map(_kinds, value))
    if isinstance(value, (np.ndarray, float)) and is_floating((array := np.asarray(value)).dtype):
        return kinds_of(array.astype("float64")).astype(array.dtype)
    return value


def hides(module: tvm.IRModule, text: str, variation: Variation) -> str:
    """Return what of the module the interpreter would not see; empty when there is nothing."""
    if any(name in text for name in _HIDDEN):
        return "something is computed out of sight"
    kernels = [function for function in module.functions.values() if isinstance(function, tirx.PrimFunc)]
    if variation in SPECIAL:
        return "kernel casts floats to integers" if any(map(casts_to_integer, kernels)) else ""
    if any(f'"{name}"' in text for name in _DIVISIONS):
        return "division, perhaps by a dim"
    return "kernel of symbolic shape" if any(map(_is_symbolic, kernels)) else ""


def _is_symbolic(kernel: tirx.PrimFunc) -> bool:
    """Say whether a parameter is a number, or a tensor of which a dim is not."""
    return any(
        not hasattr(buffer, "shape") or any(not isinstance(dim, (int, tirx.IntImm)) for dim in buffer.shape)
        for buffer in buffers_of(kernel)
    )
