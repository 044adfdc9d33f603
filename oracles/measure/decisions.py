"""Does a module decide on floating-point values, so that rounding can become a jump?

A comparison, a sort, ``argmax``, ``floor`` or a cast to integer turns two values that differ by a rounding error into
results that differ by anything.  Continuous choices (``maximum``, ``clip``, ``relu``, ``where`` on a condition that
does not come from floats) do not.
"""

from __future__ import annotations

import re

import tvm
from tvm import relax, tirx

from relaxkit.ir.operator_facts import DECIDES
from relaxkit.ir.types import flat
from relaxkit.ir.walk import nodes, operator_calls

_CASTING = "relax.astype"
_TIR_ROUNDING = re.compile(r"(?:^|\.)(floor|ceil|round|trunc|nearbyint|rint|isnan|isinf|isfinite)$")
_TIR_COMPARISONS = (tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.EQ, tirx.NE)


def decides_on_floats(module: tvm.IRModule) -> bool:
    """Say whether any function of the module, kernels included, makes a discrete decision on a float."""
    return any(_function_decides(function) for function in module.functions.values())


def kernels_decide(module: tvm.IRModule) -> bool:
    """Say whether a PrimFunc of the module makes a discrete decision on a float."""
    return any(
        isinstance(function, tirx.PrimFunc) and _kernel_decides(function) for function in module.functions.values()
    )


def _function_decides(function: relax.Function) -> bool:
    if isinstance(function, tirx.PrimFunc):
        return _kernel_decides(function)
    if not isinstance(function, relax.Function):
        return False
    return any(_call_decides(name, call) for name, call in operator_calls(function))


def _call_decides(name: str, call: relax.Call) -> bool:
    if name == _CASTING:
        return _is_float(call.args[0].ty) and not str(call.attrs.dtype).startswith(("float", "bfloat"))
    return name in DECIDES and any(_is_float(argument.ty) for argument in call.args)


def _is_float(ty: tvm.ir.Type) -> bool:
    numbers = [leaf for leaf in flat(ty) if isinstance(leaf, (relax.TensorType, tvm.ir.PrimType))]
    # An unknown dtype may be a float's.
    return any(leaf.dtype is None or "float" in str(leaf.dtype) or str(leaf.dtype) == "" for leaf in numbers)


def _kernel_decides(kernel: tirx.PrimFunc) -> bool:
    comparisons, calls = nodes(kernel.body, _TIR_COMPARISONS, relax.Call)
    return (
        any("float" in str(node.a.ty.dtype) for node in comparisons)
        or casts_to_integer(kernel)
        or any(isinstance(node.op, tvm.ir.Op) and _TIR_ROUNDING.search(node.op.name) for node in calls)
    )


def casts_to_integer(kernel: tirx.PrimFunc) -> bool:
    """Say whether a kernel casts a float to something else."""
    (casts,) = nodes(kernel.body, tirx.Cast)
    return any("float" in str(node.value.ty.dtype) and "float" not in str(node.ty.dtype) for node in casts)
