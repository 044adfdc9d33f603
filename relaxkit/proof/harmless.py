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
    """Say whether a kernel neither divides integers by what may be zero, nor computes addresses of what it reads.

    A product of dims is no such divisor: where it is zero, the loops over them are empty.
    """
    body = kernel.body
    divisions, loops, blocks, whiles, stores, loads = nodes(
        body, _DIVISIONS, tirx.For, SBlockRealize, tirx.While, tirx.BufferStore, tvm.ir.TensorLoad
    )
    bound = {each.loop_var for each in loops} | {axis.var for each in blocks for axis in each.block.iter_vars}

    def may_be_zero(divisor: Any) -> bool:
        if isinstance(divisor, tirx.Mul):
            return may_be_zero(divisor.a) or may_be_zero(divisor.b)
        return divisor in bound if isinstance(divisor, tirx.Var) else not getattr(divisor, "value", 0)

    return not (
        whiles
        or any(may_be_zero(each.b) for each in divisions if not str(each.ty).startswith("float"))
        or any(nodes(index, tvm.ir.TensorLoad)[0] for each in (*stores, *loads) for index in each.indices)
    )
