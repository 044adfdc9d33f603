"""Kernels that overwrite operands, as kernels that do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx
from tvm.s_tir import SBlockRealize

from relaxkit.ir.lowered import buffers_of
from relaxkit.ir.walk import nodes


def out_of_place(kernel: tirx.PrimFunc, places: Sequence[int]) -> tirx.PrimFunc | None:
    """Make a kernel that writes into outputs, behind its operands, what a kernel writes over some of these.

    Returns:
        ``None`` where the kernel may read an element that it has overwritten: then the two compute other things.
    """
    buffers = [each for each in buffers_of(kernel) if each is not None]
    if getattr(kernel, "buffer_map", None) is not None or kernel.params[: len(buffers)] != buffers:
        return None  # TVM before 0.27, or numbers between the tensors
    targets = [buffers[place] for place in places]
    if not all(_read_before_written(kernel.body, each) for each in targets):
        return None
    outputs = {
        each: tirx.decl_buffer(each.shape, each.dtype, f"{each.name}_out", layout=each.layout) for each in targets
    }

    def store(node: Any) -> Any:
        target = outputs.get(node.buffer)
        return node if target is None else tirx.BufferStore(target, node.value, node.indices)

    def block(node: Any) -> Any:
        writes = [type(each)(outputs.get(each.source, each.source), each.region, each.ty) for each in node.writes]
        return type(node)(
            node.iter_vars, node.reads, writes, node.name_hint, node.body, node.init, node.alloc_buffers,
            node.match_buffers, node.annotations,
        )  # fmt: skip

    (blocks,) = nodes(kernel.body, SBlockRealize)
    kinds = {type(each.block) for each in blocks}
    body = tvm_ffi.structural_map(kernel.body, [(tirx.BufferStore, store), *((kind, block) for kind in kinds)])
    return tirx.PrimFunc([*buffers, *outputs.values(), *kernel.params[len(buffers) :]], body)


def _read_before_written(body: Any, buffer: Any) -> bool:
    """Say whether each element is stored once, and only read for what is stored there."""
    loops, blocks, stores, loads = nodes(body, tirx.For, SBlockRealize, tirx.BufferStore, tvm.ir.TensorLoad)
    (store, *more) = [each for each in stores if each.buffer.same_as(buffer)] or [None]
    inside = [each for each in blocks if store in nodes(each.block.body, tirx.BufferStore)[0]]
    if store is None or more or not inside or any(each.block.init is not None for each in inside):
        return False
    realize = inside[-1]  # the innermost one
    bound = dict(zip((each.var for each in realize.block.iter_vars), realize.iter_values, strict=True))
    around = [each.loop_var for each in loops if store in nodes(each.body, tirx.BufferStore)[0]]
    # One store for each turn of the loops, which are the axes of the block, which are the indices: no element twice.
    axes = [each for each in store.indices if not isinstance(bound.get(each), tirx.IntImm | type(None))]
    once = (
        nodes(realize.block.body, tirx.For)[0] == []
        and _same([bound[each] for each in axes], around)
        and all(isinstance(each, tirx.IntImm) or each in axes for each in store.indices)
    )
    mine = [each for each in loads if each.source.same_as(buffer)]
    there = [each for each in nodes(store.value, tvm.ir.TensorLoad)[0] if each.source.same_as(buffer)]
    return once and len(mine) == len(there) and all(_alike(each.indices, store.indices) for each in mine)


def _same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    """Say whether two sequences hold the same variables, each once, in any order."""
    return len(some) == len(others) == len(set(some)) and set(some) == set(others)


def _alike(one: Any, other: Any) -> bool:
    return len(one) == len(other) and all(map(tvm_ffi.structural_equal, one, other))
