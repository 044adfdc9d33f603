"""Kernels that come to an end whatever their operands hold, so that calling one whose result nobody uses changes
nothing.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import tirx
from tvm.s_tir import SBlockRealize

from relaxkit.ir.walk import nodes

_DIVISIONS = (tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod)


def is_harmless(kernel: tirx.PrimFunc) -> bool:
    """Say whether a kernel divides integers by numbers only, and reads and writes only inside of its buffers."""
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
