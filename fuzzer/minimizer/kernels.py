"""Do calls of kernels have the types that the kernels take?  TVM's checker does not compare them."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax, tirx

_CALLS = frozenset({"relax.call_tir", "relax.call_tir_inplace"})


def kernels_fit(module: Any) -> bool:
    """Whether every tensor that a PrimFunc of ``module`` is called with has the dtype, rank and static extents of the
    buffer that it is passed for; outputs included."""
    kernels = {str(var.name_hint): item for var, item in module.functions_items() if isinstance(item, tirx.PrimFunc)}
    if not kernels:
        return True
    fits = True

    def visit(expr: Any) -> None:
        nonlocal fits
        if isinstance(expr, tvm.ir.Call) and isinstance(expr.op, tvm.ir.Op) and expr.op.name in _CALLS:
            kernel = kernels.get(str(expr.args[0].name_hint))
            fits = fits and (kernel is None or _fits(kernel, expr))

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, visit)
    return fits


def _fits(kernel: Any, call: Any) -> bool:
    given = list(call.args[1].fields) if isinstance(call.args[1], relax.Tuple) else [call.args[1]]
    types = [item.ty for item in given]
    if call.op.name == "relax.call_tir":
        types += [field for item in call.ty_args for field in _flat(item)]
    buffers = [param.ty for param in kernel.params if isinstance(param.ty, tirx.buffer.BufferType)]
    tensors = [item for item in types if isinstance(item, relax.TensorType)]
    return len(tensors) == len(buffers) and all(map(_same, tensors, buffers))


def _flat(ty: Any) -> list[Any]:
    return [leaf for item in ty.fields for leaf in _flat(item)] if isinstance(ty, relax.TupleType) else [ty]


def _same(ty: Any, buffer: Any) -> bool:
    if str(ty.dtype) != str(buffer.dtype) or ty.ndim != len(buffer.shape):
        return False
    if not isinstance(ty.shape, relax.ShapeExpr):
        return True
    pairs = zip(ty.shape.values, buffer.shape, strict=True)
    return all(int(one) == int(other) for one, other in pairs if _static(one) and _static(other))


def _static(dim: Any) -> bool:
    return isinstance(dim, tirx.IntImm)
