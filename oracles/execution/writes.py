"""Which of its parameters a kernel writes into."""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm import tirx

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
