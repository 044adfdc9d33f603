"""Lowered code: operators that allocate and free memory, what kernels write into, and whether they come to an end."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax, tirx
from tvm.ir import Op
from tvm.s_tir import SBlockRealize

from relaxkit.ir.functions import has_attribute, relax_functions
from relaxkit.ir.walk import expressions, nodes, operator_calls

_READS_AT_MOST = 2  # tirx.CallEffectKind: kExprAnnotation 0, kPure 1, kReadState 2
_DIVISIONS = (tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod)


def stored_parameters(kernel: tirx.PrimFunc) -> frozenset[int] | None:
    """Numbers of the parameters that a PrimFunc stores into; ``None`` where it runs code that may store anywhere."""
    stores, calls = nodes(kernel.body, tirx.BufferStore, tvm.ir.Call)
    if not all(_only_computes(call) for call in calls):
        return None
    places = {buffer: place for place, buffer in enumerate(buffers_of(kernel))}
    return frozenset(places[node.buffer] for node in stores if node.buffer in places)


def buffers_of(kernel: tirx.PrimFunc) -> list[Any]:
    """Return the buffer of each parameter, ``None`` for a number."""
    mapped = getattr(kernel, "buffer_map", None)  # until TVM 0.26; parameters are buffers themselves since
    if mapped is not None:
        return [mapped.get(param) for param in kernel.params]
    return [param if hasattr(param, "shape") else None for param in kernel.params]


def _only_computes(call: relax.Call) -> bool:
    if not isinstance(call.op, tvm.ir.Op):
        return False
    effect = call.op.get_attr("TCallEffectKind")
    return effect is not None and int(effect) <= _READS_AT_MOST


KILLING = frozenset({"relax.memory.kill_tensor", "relax.memory.kill_storage", "relax.vm.kill_object"})
"""Operators that empty a variable's register."""
_LOWERED = ("relax.builtin.alloc_tensor", "relax.memory.alloc_", "relax.memory.kill_", "relax.vm.")


def is_lowered(module: tvm.IRModule) -> bool:
    """Say whether a function of the module allocates memory itself: it is lowered already, in part or as a whole.

    Only functions that are impure, or declared ``relax.force_pure``, can do so and be well formed.
    """
    return any(
        isinstance(expr, Op) and str(expr.name).startswith(_LOWERED)
        for _, function in relax_functions(module)
        if may_allocate(function)
        for expr in expressions(function.body)
    )


def may_allocate(function: relax.Function) -> bool:
    """Say whether a Relax function may allocate and be well formed: it is impure, or declared ``relax.force_pure``."""
    return not function.is_pure or has_attribute(function, "relax.force_pure")


ALLOCATIONS = frozenset({"relax.builtin.alloc_tensor", "relax.memory.alloc_storage", "relax.memory.alloc_tensor"})
"""Operators that only lowering passes, or code that is lowered already, put into a function."""


def allocates(function: relax.Function) -> bool:
    """Say whether a Relax function allocates: it is lowered already, in part or as a whole.

    Such a function is impure or declared ``relax.force_pure``; no other is looked into.
    """
    return may_allocate(function) and any(name in ALLOCATIONS for name, _ in operator_calls(function))


def is_harmless(kernel: tirx.PrimFunc) -> bool:
    """Say whether a kernel divides integers by numbers only, and reads and writes only inside of its buffers.

    It then comes to an end whatever its operands hold, so that a call of which nobody uses the result changes nothing.
    """
    divisions, loops, blocks, whiles, stores, loads = nodes(
        kernel.body, _DIVISIONS, tirx.For, SBlockRealize, tirx.While, tirx.BufferStore, tvm.ir.TensorLoad
    )
    analyzer = tvm.sym.Analyzer()
    for loop in loops:  # outer ones first
        analyzer.bind(loop.loop_var, tvm.ir.Range.from_min_extent(loop.min, loop.extent))
    for realize in blocks:
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            analyzer.bind(axis.var, value)

    def may_be_zero(divisor: Any) -> bool:
        return not isinstance(divisor, tirx.IntImm) or int(divisor) == 0

    def is_inside(buffer: Any, indices: Any) -> bool:
        return len(indices) == len(buffer.shape) and all(
            analyzer.can_prove(index >= 0) and analyzer.can_prove(index < dim)
            for index, dim in zip(indices, buffer.shape, strict=True)
        )

    return (
        not whiles
        and not any(may_be_zero(each.b) for each in divisions if not str(each.ty).startswith("float"))
        and all(is_inside(each.buffer, each.indices) for each in stores)
        and all(is_inside(each.source, each.indices) for each in loads)
    )
