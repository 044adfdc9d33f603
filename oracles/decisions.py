"""Does a module decide on floating-point values, so that rounding can become a jump?

A comparison, a sort, ``argmax``, ``floor`` or a cast to integer turns two values that differ by a rounding error into
results that differ by anything.  Continuous choices (``maximum``, ``clip``, ``relu``, ``where`` on a condition that
does not come from floats) do not.
"""

from __future__ import annotations

import re
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

# Operators that decide on the value of their first argument when that is a float.
_DECIDING = frozenset(
    "relax." + name
    for name in [
        "greater",
        "greater_equal",
        "less",
        "less_equal",
        "equal",
        "not_equal",
        "argmax",
        "argmin",
        "sort",
        "argsort",
        "topk",
        "unique",
        "nonzero",
        "bucketize",
        "median",
        "floor",
        "ceil",
        "round",
        "trunc",
        "sign",
        "floor_divide",
        "floor_mod",
        "mod",
        "isfinite",
        "isinf",
        "isnan",
        "logical_and",
        "logical_or",
        "logical_xor",
        "logical_not",
        "quantize",
        "multinomial_from_uniform",
        "nn.max_pool2d_backward",
        "grad.max_pool2d_backward",
        "vision.non_max_suppression",
        "vision.all_class_non_max_suppression",
        "vision.get_valid_counts",
        "vision.roi_align",
        "vision.roi_pool",
        "vision.multibox_transform_loc",
        "image.grid_sample",
    ]
)
_CASTING = "relax.astype"
_TIR_ROUNDING = re.compile(r"(?:^|\.)(floor|ceil|round|trunc|nearbyint|rint|isnan|isinf|isfinite)$")
_TIR_COMPARISONS = (tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.EQ, tirx.NE)


def decides_on_floats(module: Any) -> bool:
    """Whether any function of the module, kernels included, makes a discrete decision on a float."""
    return any(_function_decides(function) for function in module.functions.values())


def kernels_decide(module: Any) -> bool:
    """Whether a PrimFunc of the module makes a discrete decision on a float."""
    return any(
        isinstance(function, tirx.PrimFunc) and _kernel_decides(function) for function in module.functions.values()
    )


def _function_decides(function: Any) -> bool:
    if isinstance(function, tirx.PrimFunc):
        return _kernel_decides(function)
    if not isinstance(function, relax.Function):
        return False
    found = False

    def visit(expr: Any) -> None:
        nonlocal found
        found = found or (isinstance(expr, relax.Call) and _call_decides(expr))

    relax.analysis.post_order_visit(function, visit)
    return found


def _call_decides(call: Any) -> bool:
    if not isinstance(call.op, tvm.ir.Op) or not call.args:
        return False
    if call.op.name == _CASTING:
        return _is_float(call.args[0].ty) and not str(call.attrs.dtype).startswith(("float", "bfloat"))
    return call.op.name in _DECIDING and any(_is_float(argument.ty) for argument in call.args)


def _is_float(ty: Any) -> bool:
    if isinstance(ty, relax.TupleType):
        return any(_is_float(field) for field in ty.fields)
    dtype = getattr(ty, "dtype", None)
    # An unknown dtype may be a float's.
    return isinstance(ty, (relax.TensorType, tvm.ir.PrimType)) and (
        dtype is None or "float" in str(dtype) or str(dtype) == ""
    )


def _kernel_decides(kernel: Any) -> bool:
    found = False

    def comparison(node: Any) -> None:
        nonlocal found
        found = found or "float" in str(node.a.ty.dtype)

    def cast(node: Any) -> None:
        nonlocal found
        found = found or ("float" in str(node.value.ty.dtype) and "float" not in str(node.ty.dtype))

    def call(node: Any) -> None:
        nonlocal found
        found = found or (isinstance(node.op, tvm.ir.Op) and _TIR_ROUNDING.search(node.op.name) is not None)

    tvm_ffi.structural_walk(
        kernel.body, [(_TIR_COMPARISONS, comparison), (tirx.Cast, cast), (relax.Call, call)], order="pre"
    )
    return found
