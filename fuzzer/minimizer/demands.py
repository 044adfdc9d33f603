"""Operators that are documented for some types only, whether or not TVM infers a type for others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm
from tvm import relax

# The last ones call functions that nobody has asked.
_NAMES = """
    tensor_to_shape bitwise_and bitwise_or bitwise_xor bitwise_not left_shift right_shift logical_and logical_or
    logical_xor logical_not where one_hot take gather_elements gather_nd scatter_elements scatter_nd slice_scatter
    index_put index_tensor bucketize dynamic_strided_slice reverse_sequence nn.nll_loss grad.take_backward
    grad.nll_loss_backward quantize dequantize call_pure_packed call_dps_packed call_inplace_packed
"""
_DEMANDING = frozenset(f"relax.{name}" for name in _NAMES.split())
_INVOKING = frozenset({"relax.invoke_closure", "relax.invoke_pure_closure"})


def is_broken(call: Any, args: Sequence[Any]) -> bool:
    """Whether new arguments of a call are not for its operator, though type inference may not say so.

    That is, floats where it had, and needs, something else, or a closure to invoke that is no closure any more.
    """
    if not isinstance(call.op, tvm.ir.Op):
        return False
    if str(call.op.name) in _INVOKING:
        return type(getattr(args[0], "ty", None)) is not type(getattr(call.args[0], "ty", None))
    if str(call.op.name) not in _DEMANDING:
        return False
    return any(_is_float(new) and not _is_float(old) for old, new in zip(call.args, args, strict=True))


def _is_float(expr: Any) -> bool:
    ty = getattr(expr, "ty", None)
    if isinstance(ty, relax.TupleType):
        return any(isinstance(item, relax.TensorType) and "float" in str(item.dtype) for item in ty.fields)
    return isinstance(ty, relax.TensorType) and "float" in str(ty.dtype)
