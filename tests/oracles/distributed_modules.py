"""Modules of distributed tensors: one annotated, one whose types say how its tensors are spread."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax, te
from tvm.script import relax as script

op, dist = relax.op, relax.distributed
SPREAD, WHOLE = dist.Placement.from_text("S[0]"), dist.Placement.from_text("R")


def mesh() -> Any:
    """Two devices."""
    return dist.DeviceMesh((2,), tvm.ir.Range(0, 2))


def module_of(table: Any, parameter: Any, body: Any) -> Any:
    """A module of the function ``main`` of one parameter, a kernel that adds one to four numbers, and the mesh."""
    builder = relax.BlockBuilder()
    given = te.placeholder((4,), "float32", name="A")
    kernel = te.create_prim_func([given, te.compute((4,), lambda i: given[i] + 1)], index_dtype_override="int64")
    var = builder.add_func(kernel.without_attr("global_symbol"), "add_one")
    x = relax.Var("x", parameter)
    with builder.function("main", [x]):
        builder.emit_func_output(body(builder, x, var))
    module = builder.get()
    module.update_global_info("mesh", [table])
    return module


def annotated() -> Any:
    """A function of four numbers, which are spread over two devices."""
    table, ty = mesh(), relax.TensorType((4,), "float32")

    def body(builder: Any, x: Any, kernel: Any) -> Any:
        value = builder.emit(op.distributed.annotate_sharding(builder.emit(op.abs(x)), table, SPREAD))
        return builder.emit(relax.call_tir(kernel, [value], ty))

    return module_of(table, ty, body)


def spread() -> Any:
    """A function of four numbers that every device has, of which each device takes two."""
    table = mesh()
    whole, part = (dist.DTensorType(relax.TensorType((4,), "float32"), table, how) for how in (WHOLE, SPREAD))

    def body(builder: Any, x: Any, kernel: Any) -> Any:
        value = builder.emit(op.distributed.redistribute(x, table, SPREAD))
        return builder.emit(script.dist.call_tir(kernel, [value], part))

    return module_of(table, whole, body)
