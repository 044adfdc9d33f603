"""Operators that are documented for integers or booleans only, whether or not TVM infers a type for others."""

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


def is_broken(call: Any, args: Sequence[Any]) -> bool:
    """Whether new arguments of a call give floats to an operator where it had, and needs, something else."""
    if not isinstance(call.op, tvm.ir.Op) or str(call.op.name) not in _DEMANDING:
        return False
    return any(_is_float(new) and not _is_float(old) for old, new in zip(call.args, args, strict=True))


def _is_float(expr: Any) -> bool:
    ty = getattr(expr, "ty", None)
    if isinstance(ty, relax.TupleType):
        return any(isinstance(item, relax.TensorType) and "float" in str(item.dtype) for item in ty.fields)
    return isinstance(ty, relax.TensorType) and "float" in str(ty.dtype)
