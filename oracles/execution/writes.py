"""Which kernels write into nothing but their outputs: programs of such cannot overwrite a constant."""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

CALL_TIR = "relax.call_tir"
_READS_AT_MOST = 2  # tirx.CallEffectKind: kExprAnnotation 0, kPure 1, kReadState 2


def stored_parameters(kernel: Any) -> frozenset[int] | None:
    """Numbers of the parameters that a PrimFunc stores into; ``None`` where it runs code that may store anywhere."""
    stored: list[Any] = []
    calls: list[Any] = []
    tvm_ffi.structural_walk(
        kernel.body,
        [(tirx.BufferStore, lambda node: stored.append(node.buffer)), (tvm.ir.Call, lambda node: calls.append(node))],
        order="pre",
    )
    if not all(_only_computes(call) for call in calls):
        return None
    buffers = getattr(kernel, "buffer_map", None)  # until TVM 0.26; parameters are buffers themselves since
    places = {param if buffers is None else buffers.get(param): place for place, param in enumerate(kernel.params)}
    return frozenset(places[buffer] for buffer in stored if buffer in places)


def _only_computes(call: Any) -> bool:
    if not isinstance(call.op, tvm.ir.Op):
        return False
    effect = call.op.get_attr("TCallEffectKind")
    return effect is not None and int(effect) <= _READS_AT_MOST


def writes_outputs_only(module: Any) -> bool:
    """Whether every call of a PrimFunc is a ``call_tir`` of one that stores into its outputs alone."""
    places: dict[str, frozenset[int] | None] = {
        gv.name_hint: stored_parameters(function)
        for gv, function in module.functions_items()
        if isinstance(function, tirx.PrimFunc)
    }
    safe = True

    def visit(expr: Any) -> None:
        nonlocal safe
        if safe and isinstance(expr, relax.Call):
            safe = _is_safe(expr, places)

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, visit)
    return safe


def _is_safe(call: Any, places: dict[str, frozenset[int] | None]) -> bool:
    if isinstance(call.op, relax.GlobalVar):
        return call.op.name_hint not in places  # a kernel of a lowered program, whose outputs are arguments
    if not isinstance(call.op, tvm.ir.Op) or call.op.name != CALL_TIR:
        return True
    stored = places.get(call.args[0].name_hint)
    if stored is None or not isinstance(call.args[1], relax.Tuple):
        return False
    first = len(call.args[1].fields)
    count = len(call.ty.fields) if isinstance(call.ty, relax.TupleType) else 1
    return stored <= frozenset(range(first, first + count))
