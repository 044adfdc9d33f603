"""PrimFuncs over other dims: smaller static ones, and static ones for symbols.  What they compute stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Range
from tvm.s_tir import SBlockRealize

from fuzzer.minimizer.retype import dtype_of
from oracles.execution.writes import stored_parameters

MAPS = hasattr(tvm_ffi, "structural_map")
"""Until TVM 0.26 a kernel cannot be rewritten node by node, and keeps its dims."""


class _Stays(Exception):
    """There is something in a kernel that cannot be given other dims."""


def resized(kernel: Any, dims: Mapping[int, int]) -> Any:
    """The kernel with other static extents in its buffers, loops and blocks.

    Constants in indices and values stay, so this is done only where all places read and written remain inside of their
    buffers for certain; else the kernel is returned as it is.
    """
    if not MAPS or not dims or stored_parameters(kernel) is None:
        return kernel

    def extent(value: Any) -> Any:
        new = dims.get(int(value)) if isinstance(value, tirx.IntImm) else None
        return value if new is None else tirx.IntImm(dtype_of(value), new)

    try:
        smaller = _rebuilt(kernel, extent, [])
    except _Stays:
        return kernel
    return smaller if _is_inside(smaller) else kernel


def fixed(kernel: Any, sizes: Mapping[Any, int]) -> Any:
    """The kernel with numbers for symbolic dims, as if it had been written for them."""
    if not MAPS:
        return kernel

    def size(var: Any) -> Any:
        return tirx.IntImm(dtype_of(var), sizes[var]) if var in sizes else var

    simplify = tvm.sym.Analyzer().simplify
    try:
        return _rebuilt(kernel, simplify, [(tirx.Var, size)])
    except _Stays:
        return kernel


def _rebuilt(kernel: Any, extent: Any, others: list[Any]) -> Any:
    """The kernel with each extent of a buffer, a loop or a region replaced."""

    def loop(node: Any) -> Any:
        return tirx.For(
            node.loop_var, node.min, extent(node.extent), node.kind, node.body, node.thread_binding, node.annotations
        )

    def buffer(ty: Any) -> Any:
        if len(ty.strides) or len(ty.allocated_addr):
            raise _Stays
        shape = [extent(dim) for dim in ty.shape]
        layout = ty.layout if ty.layout is None else tirx.decl_buffer(shape, str(ty.dtype)).ty.layout
        info = type(ty).__tvm_ffi_type_info__
        fields = {item.name: getattr(ty, item.name) for item in info.fields}
        return tvm.ir.make_node(info.type_key, **{**fields, "shape": shape, "layout": layout})

    types = {type(item.ty) for item in kernel.params if hasattr(item, "shape") and hasattr(item.ty, "layout")}
    if not types:  # no buffers, or those of a release that keeps them elsewhere
        raise _Stays
    callbacks = [
        (tirx.For, loop),
        (Range, lambda item: Range.from_min_extent(item.min, extent(item.extent))),
        *((ty, buffer) for ty in types),
        *others,
    ]
    new = tvm_ffi.structural_map(kernel, callbacks)
    return tirx.PrimFunc(new.params, new.body, attrs=kernel.attrs)


def _is_inside(kernel: Any) -> bool:
    """Whether every place that is read or written is one of a loop's or a block's variables, all inside the buffer."""
    extents: dict[Any, Any] = {}
    loops: list[Any] = []
    blocks: list[Any] = []
    places: list[tuple[Any, Any]] = []
    tvm_ffi.structural_walk(
        kernel.body,
        [
            (tirx.For, loops.append),
            (SBlockRealize, blocks.append),
            (tirx.BufferStore, lambda node: places.append((node.buffer, node.indices))),
            (tvm.ir.TensorLoad, lambda node: places.append((node.source, node.indices))),
        ],
        order="pre",
    )
    for loop in loops:
        if not _is_number(loop.min, 0):
            return False
        extents[loop.loop_var] = loop.extent
    for realize in blocks:
        if not _is_number(realize.predicate, 1):
            return False
        for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            if not _is_number(item.dom.min, 0) or not _fits(value, item.dom.extent, extents):
                return False
            extents[item.var] = item.dom.extent
    return all(
        len(indices) == len(buffer.shape) and all(map(lambda at, dim: _fits(at, dim, extents), indices, buffer.shape))
        for buffer, indices in places
    )


def _fits(place: Any, dim: Any, extents: Mapping[Any, Any]) -> bool:
    """Whether an index is always below a dim."""
    if isinstance(place, tirx.IntImm):
        return isinstance(dim, tirx.IntImm) and 0 <= int(place) < int(dim)
    extent = extents.get(place) if isinstance(place, tirx.Var) else None
    if extent is None:
        return False
    if isinstance(extent, tirx.IntImm) and isinstance(dim, tirx.IntImm):
        return int(extent) <= int(dim)
    return bool(tvm_ffi.structural_equal(extent, dim))


def _is_number(value: Any, number: int) -> bool:
    return isinstance(value, tirx.IntImm) and int(value) == number
