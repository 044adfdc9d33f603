"""Building PrimFuncs node by node: parameters, blocks under loops, intermediate buffers.

Parsing TVMScript costs fifteen milliseconds and TE one; nodes made directly cost a tenth of that, and reach forms that
TE never makes: other loop orders, split and fused loops with predicates, several blocks, scalar parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tvm import tirx
from tvm.ir import Range, make_node
from tvm.s_tir import SBlock, SBlockRealize

from relaxkit.ir.sketch.kernels import region
from strategies.scope.bounds import Bounds
from strategies.scope.values import Dim, OwnDims, Value

INDEX = "int64"
TRUE = tirx.IntImm("bool", 1)


@dataclass(frozen=True, slots=True)
class Extent:
    """A dim from both sides: in the kernel's own symbols and in the caller's, or the same number."""

    inner: Dim
    outer: Dim

    @property
    def is_static(self) -> bool:
        """Say whether it is a number."""
        return isinstance(self.inner, int)

    def plus(self, other: Extent) -> Extent:
        """Return the sum."""
        return Extent(self.inner + other.inner, self.outer + other.outer)

    def times(self, other: Extent) -> Extent:
        """Return the product."""
        return Extent(self.inner * other.inner, self.outer * other.outer)


def fixed(size: int) -> Extent:
    """Return a static extent."""
    return Extent(size, size)


@dataclass(frozen=True, slots=True)
class BufferSource:
    """A buffer that a block may read: an operand or the result of an earlier block."""

    buffer: Any
    extents: tuple[Extent, ...]
    bounds: Bounds
    dtype: str


@dataclass(frozen=True, slots=True)
class ScalarTerm:
    """A scalar expression with what it lies in, for every index."""

    expr: Any
    bounds: Bounds
    dtype: str


@dataclass(slots=True)
class Reads:
    """The loads of one block, which its signature must list."""

    regions: list[Any] = field(default_factory=list)

    def load(self, source: BufferSource, indices: Sequence[Any]) -> ScalarTerm:
        """Return one element."""
        where = [tirx.IntImm(INDEX, index) if isinstance(index, int) else index for index in indices]
        self.regions.append(region(source.buffer, where))
        return ScalarTerm(tirx.BufferLoad(source.buffer, where), source.bounds, source.dtype)


@dataclass(frozen=True, slots=True)
class Nest:
    """The form of the loops over a block.

    Attributes:
        order: The order of the loops, as a permutation of the block's axes.
        split: Number of the axis whose loop is split in two, with a predicate where it does not divide; -1 for none.
        factor: Trips of the inner loop of a split.
        fused: Whether one loop runs over all axes.
        unrolled: Whether the innermost loop is to be unrolled.
        bare: Whether the statement stands without a block (a stage without reduction only).
    """

    order: tuple[int, ...] = ()
    split: int = -1
    factor: int = 2
    fused: bool = False
    unrolled: bool = False
    bare: bool = False


Body = Callable[[list[Any], list[Any], Reads], ScalarTerm]
"""The value of one element, from the spatial and the reduction variables."""


@dataclass(frozen=True, slots=True)
class BlockReduction:
    """The reduction of a block: the extents of its reduction axes, its first value and the step."""

    extents: tuple[Extent, ...]
    first: Any
    step: Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class KernelStage:
    """One block to be.

    Attributes:
        extents: Shape of what it writes.
        body: The value of one element.
        reduction: How it reduces, if it does.
        pattern: What ``AnnotateTIROpPattern`` would call it at the least: 0 element-wise, 1 broadcast, 2 injective, 3
            reduction, 8 opaque.
    """

    extents: tuple[Extent, ...]
    body: Body
    reduction: BlockReduction | None = None
    pattern: int = 2


class KernelBuilder:
    """A PrimFunc under construction.

    Attributes:
        inputs: Parameters for the operands, in the order of the call's arguments.
        outputs: Parameters for the outputs.
        results: The outputs as sources, in the same order.
    """

    def __init__(self) -> None:
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.results: list[BufferSource] = []
        self._own = OwnDims()
        self._allocated: list[Any] = []
        self._statements: list[Any] = []

    def extent(self, dim: Dim) -> Extent:
        """Return a dim of the caller's in the kernel's symbols; equal ones share a symbol."""
        return Extent(self._own(dim), dim)

    def operand(self, value: Value) -> BufferSource:
        """Return a parameter for an operand."""
        extents = tuple(self.extent(dim) for dim in value.shape)
        buffer = self._buffer(extents, value.dtype, chr(ord("A") + len(self.inputs)))
        self.inputs.append(buffer)
        return BufferSource(buffer, extents, value.known, value.dtype)

    def scalar(self, dim: Dim) -> Extent:
        """Return a parameter for a number that the caller gives."""
        symbol = tirx.Var(f"s{len(self.inputs)}", INDEX)
        self.inputs.append(symbol)
        return Extent(symbol, dim)

    def output(self, extents: Sequence[Extent], bounds: Bounds, dtype: str) -> BufferSource:
        """Return a parameter for an output."""
        source = BufferSource(self._buffer(extents, dtype, f"O{len(self.outputs)}"), tuple(extents), bounds, dtype)
        self.outputs.append(source.buffer)
        self.results.append(source)
        return source

    def intermediate(self, extents: Sequence[Extent], bounds: Bounds, dtype: str) -> BufferSource:
        """Return a buffer of the kernel's own."""
        source = BufferSource(self._buffer(extents, dtype, f"T{len(self._allocated)}"), tuple(extents), bounds, dtype)
        self._allocated.append(source.buffer)
        return source

    def block(
        self, stage: KernelStage, *, kept: bool = True, nest: Callable[[int], Nest] = lambda _: Nest()
    ) -> BufferSource:
        """Write the block of a stage into an output, or a buffer of the kernel's own; ``nest`` is asked last."""
        spatial = axes(stage.extents)
        more = axes(stage.reduction.extents if stage.reduction else (), "k")
        reads = Reads()
        term = stage.body(spatial, more, reads)
        target = (self.output if kept else self.intermediate)(stage.extents, term.bounds, term.dtype)
        self.store(target, term, spatial, more, reads, nest(len(spatial) + len(more)), stage.reduction)
        return target

    def store(
        self, target: BufferSource, term: ScalarTerm, axes: Sequence[Any], more: Sequence[Any], reads: Reads,
        nest: Nest, reduction: BlockReduction | None = None, turned: bool = False,
    ) -> None:  # fmt: skip
        """Add the block that writes a value to every element of a buffer.

        Args:
            target: The buffer.
            term: The value, over ``axes`` and ``more``.
            axes: The spatial variables, one per dim of the target.
            more: The reduction variables.
            reads: What the value loads.
            nest: How the loops are written.
            reduction: How to reduce over ``more``.
            turned: Whether the axes are those of the target in reverse.
        """
        order = -1 if turned else 1
        extents = [extent.inner for extent in target.extents[::order]]
        kinds = [tirx.IterVar.DataPar] * len(axes)
        where = list(axes)[::order]
        body, init = tirx.BufferStore(target.buffer, term.expr, where), None
        if reduction is not None:
            extents += [extent.inner for extent in reduction.extents]
            kinds += [tirx.IterVar.CommReduce] * len(more)
            init = tirx.BufferStore(target.buffer, reduction.first, where)
            body = tirx.BufferStore(
                target.buffer, reduction.step(tirx.BufferLoad(target.buffer, where), term.expr), where
            )
        variables = [*axes, *more]
        if nest.bare and reduction is None:
            for axis, extent in zip(reversed(variables), reversed(extents), strict=True):
                body = tirx.For(axis, number(0), number(extent), tirx.ForKind.SERIAL, body)
            self._statements.append(body)
            return
        iters = [
            tirx.IterVar(Range(number(0), number(extent)), variable, kind)
            for variable, extent, kind in zip(variables, extents, kinds, strict=True)
        ]
        block = SBlock(iters, reads.regions, [region(target.buffer, where)], f"b{len(self._statements)}", body, init)
        self._statements.append(loops(block, extents, nest))

    def finish(self, attrs: dict[str, Any]) -> Any:
        """Return the PrimFunc."""
        body = self._statements[0] if len(self._statements) == 1 else tirx.SeqStmt(self._statements)
        root = SBlockRealize([], TRUE, SBlock([], [], [], "root", body, alloc_buffers=self._allocated))
        return tirx.PrimFunc(
            [*self.inputs, *self.outputs], root, attrs=make_node("ir.DictAttrs", **{"s_tir": True, **attrs})
        )

    def _buffer(self, extents: Sequence[Extent], dtype: str, name: str) -> Any:
        return tirx.decl_buffer([number(extent.inner) for extent in extents], dtype, name, layout=None)


def axes(extents: Sequence[Extent], letter: str = "v") -> list[Any]:
    """Return a variable for each extent."""
    return [tirx.Var(f"{letter}{at}", INDEX) for at in range(len(extents))]


def loops(block: Any, extents: Sequence[Any], nest: Nest) -> Any:
    """Return a block under its loops."""
    count = len(extents)
    order = nest.order if len(nest.order) == count else tuple(range(count))
    if nest.fused and count > 1 and not any(isinstance(extent, int) and extent == 0 for extent in extents):
        return _fused(block, extents, nest)
    values: list[Any] = [None] * count
    found: list[tuple[Any, Any]] = []
    predicate: Any = TRUE
    for axis in order:
        if axis == nest.split:
            outer, inner = tirx.Var(f"i{axis}_0", INDEX), tirx.Var(f"i{axis}_1", INDEX)
            trips = (extents[axis] + (nest.factor - 1)) // nest.factor
            found += [(outer, trips), (inner, nest.factor)]
            values[axis] = outer * nest.factor + inner
            if not isinstance(extents[axis], int) or extents[axis] % nest.factor:
                predicate = values[axis] < number(extents[axis])
        else:
            values[axis] = tirx.Var(f"i{axis}", INDEX)
            found.append((values[axis], extents[axis]))
    return _under(SBlockRealize(values, predicate, block), found, nest)


def _fused(block: Any, extents: Sequence[Any], nest: Nest) -> Any:
    whole = tirx.Var("i_fused", INDEX)
    values: list[Any] = []
    stride: Any = 1
    for axis in range(len(extents) - 1, -1, -1):
        index = whole if isinstance(stride, int) and stride == 1 else tirx.floordiv(whole, number(stride))
        values.insert(0, index if axis == 0 else tirx.floormod(index, number(extents[axis])))
        stride = extents[axis] * stride
    return _under(SBlockRealize(values, TRUE, block), [(whole, stride)], nest)


def _under(statement: Any, found: Sequence[tuple[Any, Any]], nest: Nest) -> Any:
    for depth, (variable, extent) in enumerate(reversed(found)):
        # A loop is unrolled only where the number of its trips is known.
        unrolled = nest.unrolled and depth == 0 and isinstance(extent, int)
        kind = tirx.ForKind.UNROLLED if unrolled else tirx.ForKind.SERIAL
        statement = tirx.For(variable, number(0), number(extent), kind, statement)
    return statement


def number(size: Any) -> Any:
    """Return a size as an expression."""
    return tirx.IntImm(INDEX, size) if isinstance(size, int) else size
