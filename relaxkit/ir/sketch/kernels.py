"""PrimFuncs in a sketch: simpler ones of the same signature, and the same ones over other dims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Range
from tvm.s_tir import SBlock, SBlockRealize

from relaxkit.ir.lowered import buffers_of, stored_parameters
from relaxkit.ir.retype import Retype, dtype_of, with_fields
from relaxkit.ir.walk import nodes

MAPS = hasattr(tvm_ffi, "structural_map")
"""Until TVM 0.26 a kernel cannot be rewritten node by node, and keeps its dims."""


class _Stays(Exception):
    """There is something in a kernel that cannot be given other dims."""


def resized(kernel: tirx.PrimFunc, dims: Mapping[int, int]) -> Any:
    """Return the kernel with other static extents in its buffers, loops and blocks.

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


def fixed(kernel: tirx.PrimFunc, sizes: Mapping[Any, int]) -> Any:
    """Return the kernel with numbers for symbolic dims, as if it had been written for them."""
    if not MAPS:
        return kernel

    def size(var: Any) -> Any:
        return tirx.IntImm(dtype_of(var), sizes[var]) if var in sizes else var

    simplify = tvm.sym.Analyzer().simplify
    try:
        return _rebuilt(kernel, simplify, [(tirx.Var, size)])
    except _Stays:
        return kernel


def _rebuilt(kernel: tirx.PrimFunc, extent: Any, others: list[Any]) -> Any:
    """Return the kernel with each extent of a buffer, a loop or a region replaced."""

    def loop(node: Any) -> Any:
        return tirx.For(
            node.loop_var, node.min, extent(node.extent), node.kind, node.body, node.thread_binding, node.annotations
        )

    def buffer(ty: tvm.ir.Type) -> Any:
        if len(ty.strides) or len(ty.allocated_addr):
            raise _Stays
        shape = [extent(dim) for dim in ty.shape]
        layout = ty.layout if ty.layout is None else tirx.decl_buffer(shape, str(ty.dtype)).ty.layout
        return with_fields(ty, shape=shape, layout=layout)

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


def _is_inside(kernel: tirx.PrimFunc) -> bool:
    """Say whether all places read and written are variables of loops or blocks, all inside the buffer."""
    extents: dict[Any, Any] = {}
    loops, blocks, stores, loads = nodes(kernel.body, tirx.For, SBlockRealize, tirx.BufferStore, tvm.ir.TensorLoad)
    places = [(node.buffer, node.indices) for node in stores] + [(node.source, node.indices) for node in loads]
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
    """Say whether an index is always below a dim."""
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


def region(buffer: Any, indices: Sequence[Any]) -> Any:
    """Return one element of a buffer as a region."""
    return tirx.BufferRegion(buffer, [Range.from_min_extent(index, tirx.IntImm("int64", 1)) for index in indices])


_TRUE = tirx.IntImm("bool", 1)
_WAYS = tuple((blocks, copy) for blocks in (False, True) for copy in (True, False))


def plain_bodies(kernel: tirx.PrimFunc) -> Iterator[Any]:
    """Yield kernels that copy, or store ones, with at most one block for each output: the shortest first."""
    buffers = buffers_of(kernel)
    outputs = _outputs(kernel, buffers)
    if outputs:
        for blocks, copy in _WAYS:
            yield kernel.with_body(_plain(buffers, outputs, blocks, copy))


def retyped(kernel: tirx.PrimFunc, retype: Retype) -> Any:
    """Return the same kernel over buffers of edited types; of one that is not plain only dims can be edited."""
    old = buffers_of(kernel)
    new = [None if item is None else _retyped_buffer(item, retype) for item in old]
    if new == old:
        return kernel
    for (blocks, copy), item in zip(_WAYS, plain_bodies(kernel), strict=False):
        if tvm_ffi.structural_equal(item, kernel):
            outputs = [new[place] for place, each in enumerate(old) if each in _outputs(kernel, old)]
            params = [param if each is None else each for param, each in zip(kernel.params, new, strict=True)]
            return tirx.PrimFunc(params, _plain(new, outputs, blocks, copy), attrs=kernel.attrs)
    return resized(kernel, retype.dims) if retype.rank is None and not retype.dtypes else kernel


def _retyped_buffer(buffer: Any, retype: Retype) -> Any:
    shape, dtype = retype.dims_of(buffer.shape), retype.dtypes.get(str(buffer.dtype), str(buffer.dtype))
    same = len(shape) == len(buffer.shape) and all(map(tvm_ffi.structural_equal, shape, buffer.shape))
    return buffer if same and dtype == str(buffer.dtype) else tirx.decl_buffer(shape, dtype, buffer.name, layout=None)


def signature(kernel: tirx.PrimFunc) -> tuple[Any, ...]:
    """Return dtypes and shapes of the parameters as text: kernels of equal signatures can be called alike."""
    return tuple(
        "number" if item is None else (str(item.dtype), *(str(dim) for dim in item.shape))
        for item in buffers_of(kernel)
    )


def is_plain(kernel: tirx.PrimFunc) -> bool:
    """Say whether a kernel is one of :func:`plain_bodies`: defined for all inputs."""
    return any(tvm_ffi.structural_equal(kernel, item) for item in plain_bodies(kernel))


def fewer_stages(kernel: tirx.PrimFunc, called: bool = True) -> Iterator[Any]:
    """Yield kernels without one of several blocks, where nothing reads what it writes, and nobody gets it.

    Of a kernel that is never ``called`` nobody does, whatever it writes.
    """
    body = kernel.body
    root = body.block if isinstance(body, SBlockRealize) and not body.iter_values else None
    if root is None or not isinstance(root.body, tirx.SeqStmt):
        return
    stages = list(root.body.seq)
    blocks = [_block_of(stage) for stage in stages]
    if not all(blocks):
        return
    regions = [[{_buffer_of(item) for item in part} for part in (block.reads, block.writes)] for block in blocks]
    # What a call is given stands in no region: it may read it, or write it.
    given = [
        set(root.alloc_buffers).intersection(tirx.analysis.undefined_vars(stage, [])).difference(*parts)
        for stage, parts in zip(stages, regions, strict=True)
    ]
    for place in reversed(range(len(stages))):
        others = [number for number in range(len(stages)) if number != place]
        reads = set().union(*(regions[number][0] | given[number] for number in others))
        writes = set().union(*(regions[number][1] for number in others))
        gone = (regions[place][1] | given[place]) - writes
        if called and (gone & reads or not all(item in root.alloc_buffers for item in gone)):
            continue  # something would be read, or returned, that nothing has written
        allocated = [item for item in root.alloc_buffers if item in reads | writes]
        yield kernel.with_body(_root(stages[:place] + stages[place + 1 :], allocated))


def _block_of(stage: Any) -> Any:
    """Return the one block under the loops of a stage, ``None`` where there is none."""
    while isinstance(stage, tirx.For):
        stage = stage.body
    return stage.block if isinstance(stage, SBlockRealize) else None


def _buffer_of(region: Any) -> Any:
    return region.buffer if hasattr(region, "buffer") else region.source  # the first until TVM 0.26


def without_annotations(kernel: tirx.PrimFunc) -> Any:
    """Return the kernel with plain loops, and no annotations on loops and blocks."""
    return kernel.with_body(_unannotated(kernel.body))


def _unannotated(node: Any) -> Any:
    if isinstance(node, tirx.SeqStmt):
        return tirx.SeqStmt([_unannotated(item) for item in node.seq])
    if isinstance(node, tirx.For):
        return tirx.For(node.loop_var, node.min, node.extent, tirx.ForKind.SERIAL, _unannotated(node.body))
    if isinstance(node, SBlockRealize):
        block = node.block
        inner = SBlock(
            block.iter_vars, block.reads, block.writes, block.name_hint, _unannotated(block.body), block.init,
            block.alloc_buffers, block.match_buffers,
        )  # fmt: skip
        return SBlockRealize(node.iter_values, node.predicate, inner)
    return node


def _outputs(kernel: tirx.PrimFunc, buffers: list[Any]) -> list[Any]:
    stored = stored_parameters(kernel)
    if stored is None:
        known = [item for item in buffers if item is not None]
        return known[-1:]
    return [buffers[place] for place in sorted(stored) if buffers[place] is not None]


def _source(output: Any, buffers: list[Any], outputs: list[Any]) -> Any:
    """Return an input of the same shape and dtype."""
    for item in buffers:
        if item is None or any(item.same_as(other) for other in outputs):
            continue
        same = len(item.shape) == len(output.shape) and str(item.dtype) == str(output.dtype)
        if same and all(
            tvm_ffi.structural_equal(left, right) for left, right in zip(item.shape, output.shape, strict=True)
        ):
            return item
    return None


def _plain(buffers: list[Any], outputs: list[Any], blocks: bool, copy: bool) -> Any:
    statements = [_filled(item, _source(item, buffers, outputs) if copy else None, blocks) for item in outputs]
    return _root(statements) if blocks else _sequence(statements)


def _filled(output: Any, source: Any, block: bool) -> Any:
    """Loops that store into each element what the source has there, or one."""
    rank = len(output.shape)
    extents = [dim if not isinstance(dim, int) else tirx.IntImm("int64", dim) for dim in output.shape]
    loops = [tirx.Var(f"i{place}", dtype_of(dim)) for place, dim in enumerate(extents)]
    axes = [tirx.Var(f"v{place}", dtype_of(dim)) for place, dim in enumerate(extents)] if block else loops
    reads: list[Any] = []
    value: Any = tirx.const(1, str(output.dtype))
    if source is not None:
        reads.append(region(source, axes))
        value = tirx.BufferLoad(source, axes)
    body: Any = tirx.BufferStore(output, value, axes)
    if block:
        iters = [
            tirx.IterVar(Range(_zero(extents[place]), extents[place]), axes[place], tirx.IterVar.DataPar)
            for place in range(rank)
        ]
        inner = SBlock(iters, reads, [region(output, axes)], str(output.name), body)
        body = SBlockRealize(loops, _TRUE, inner)
    for place in reversed(range(rank)):
        body = tirx.For(loops[place], _zero(extents[place]), extents[place], tirx.ForKind.SERIAL, body)
    return body


def _root(statements: list[Any], allocated: list[Any] | None = None) -> Any:
    root = SBlock([], [], [], "root", _sequence(statements), alloc_buffers=allocated or [])
    return SBlockRealize([], _TRUE, root)


def _sequence(statements: list[Any]) -> Any:
    return statements[0] if len(statements) == 1 else tirx.SeqStmt(statements)


def _zero(dim: Any) -> Any:
    return tirx.IntImm(dtype_of(dim), 0)
