"""Facts about operators that several rooms ask for; names as in TVM's registry (``relax.add``)."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax

from relaxkit.ir.types import flat
from relaxkit.ir.walk import operator_of


def _relax(names: str) -> frozenset[str]:
    return frozenset(f"relax.{name}" for name in names.split())


LAYOUTS = "FRelaxInferLayout"
PRECISIONS = "FInferMixedPrecision"
GRADIENTS = "FPrimalGradient"
"""Attributes of operators that are functions which passes call."""

DECIDES = _relax(
    """
    greater greater_equal less less_equal equal not_equal argmax argmin sort argsort topk unique nonzero bucketize
    median floor ceil round trunc sign floor_divide floor_mod mod isfinite isinf isnan logical_and logical_or
    logical_xor logical_not quantize multinomial_from_uniform nn.max_pool2d_backward grad.max_pool2d_backward
    vision.non_max_suppression vision.all_class_non_max_suppression vision.get_valid_counts vision.roi_align
    vision.roi_pool vision.multibox_transform_loc image.grid_sample
    """
)
"""Operators that decide on the value of an operand when that is a float, so that rounding can become a jump."""

BY_ELEMENT = _relax(
    "log sqrt rsqrt asin acos acosh atanh power log_add_exp divide floor_divide mod floor_mod left_shift right_shift"
)
"""Operators that are undefined, or not finite, for some elements, whatever the shapes are."""
NARROW = BY_ELEMENT | _relax(
    """
    astype take gather_elements gather_nd scatter_elements scatter_nd slice_scatter index_put index_tensor one_hot
    bucketize strided_slice dynamic_strided_slice reverse_sequence nn.nll_loss nn.cross_entropy_with_logits
    nn.batch_norm nn.attention nn.attention_bias grad.take_backward grad.nll_loss_backward quantize dequantize
    multinomial_from_uniform image.grid_sample vision.all_class_non_max_suppression vision.get_valid_counts
    vision.non_max_suppression vision.roi_align vision.roi_pool vision.multibox_transform_loc call_tir call_tir_inplace
    call_dps_packed call_pure_packed call_inplace_packed
    """
)
"""Operators that are undefined, or not finite, on a part of the default input domain."""

TYPED = _relax(
    """
    tensor_to_shape bitwise_and bitwise_or bitwise_xor bitwise_not left_shift right_shift logical_and logical_or
    logical_xor logical_not where one_hot take gather_elements gather_nd scatter_elements scatter_nd slice_scatter
    index_put index_tensor bucketize dynamic_strided_slice reverse_sequence nn.nll_loss grad.take_backward
    grad.nll_loss_backward quantize dequantize call_pure_packed call_dps_packed call_inplace_packed
    """
)
"""Operators that are documented for some dtypes only, whether or not TVM infers a type for others; the last ones call
functions that nobody has asked."""

_INVOKING = frozenset({"relax.invoke_closure", "relax.invoke_pure_closure"})


def is_broken(call: relax.Call, args: Sequence[relax.Expr]) -> bool:
    """Say whether new arguments of a call are not for its operator, though type inference may not say so.

    That is, floats where it had, and needs, something else, or a closure to invoke that is no closure any more.
    """
    name = operator_of(call)
    if name in _INVOKING:
        return type(getattr(args[0], "ty", None)) is not type(getattr(call.args[0], "ty", None))
    if name not in TYPED:
        return False
    return any(_is_float(new) and not _is_float(old) for old, new in zip(call.args, args, strict=True))


def device_index(call: relax.Call) -> int:
    """Return the number of the device on which a call allocates; 0 where it names none."""
    operands = zip(call.op.arguments, call.args, strict=False) if operator_of(call) else ()
    return next((int(each) for info, each in operands if str(info.name).endswith("device_index")), 0)


def _is_float(expr: relax.Expr) -> bool:
    leaves = flat(getattr(expr, "ty", None))
    return any(isinstance(leaf, relax.TensorType) and "float" in str(leaf.dtype) for leaf in leaves)
