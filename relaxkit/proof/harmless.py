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
    """Say whether a kernel divides no integer by what may be zero, and reads and writes only inside of its buffers.

    A product of dims is no such divisor: where it is zero, the loops over them are empty.
    """
    divisions, loops, blocks, whiles, stores, loads = nodes(
        kernel.body, _DIVISIONS, tirx.For, SBlockRealize, tirx.While, tirx.BufferStore, tvm.ir.TensorLoad
    )
    analyzer, bound = tvm.sym.Analyzer(), set()
    for loop in loops:  # outer ones first
        bound.add(loop.loop_var)
        analyzer.bind(loop.loop_var, tvm.ir.Range.from_min_extent(loop.min, loop.extent))
    for realize in blocks:
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            bound.add(axis.var)
            analyzer.bind(axis.var, value)

    def may_be_zero(divisor: Any) -> bool:
        if isinstance(divisor, tirx.Mul):
            return may_be_zero(divisor.a) or may_be_zero(divisor.b)
        return divisor in bound if isinstance(divisor, tirx.Var) else not getattr(divisor, "value", 0)

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
