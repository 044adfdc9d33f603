"""The table of kernels: what each takes, what it computes and how far its results go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvm import relax, te, tirx, topi

from strategies.kernels.builder import KernelBuilder, Nest, Reads, axes
from strategies.scope.bounds import Bounds
from strategies.scope.features import Feature
from strategies.scope.scope import Scope
from strategies.scope.values import Dim, Value

Shape = tuple[Dim, ...]
Shapes = tuple[tuple[int | str, ...], ...]

MATCHED_SHAPE = (2, 3)
"""The shape of the kernels that patterns of SplitCallTIRByPattern look for."""

NUMBERS = ("float32", "float16", "float64", "int32", "int64")


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel.

    Attributes:
        name: Name of its PrimFunc.
        operands: Draws the operands from a scope; all of one dtype.
        outputs: Shapes of the outputs from those of the operands.
        bounds: Bounds of the outputs from those of the operands.
        compute: The outputs as TE tensors, from TE placeholders; ``None`` for a written kernel.
        written: Builds a kernel node by node, with symbolic buffers.
        in_place: Whether the first operand is overwritten (``call_tir_inplace``).
        several: Whether it has several outputs.
    """

    name: str
    operands: Callable[[Scope], list[Value]]
    outputs: Callable[..., list[Shape]]
    bounds: Callable[..., list[Bounds]]
    compute: Callable[..., Sequence[Any]] | None = None
    written: Callable[[], Any] | None = None
    in_place: bool = False
    several: bool = False

    def fits(self, scope: Scope) -> bool:
        """Say whether the features of a case allow it; a written kernel always has symbolic buffers."""
        return (
            (not self.in_place or scope.has(Feature.INPLACE_KERNELS))
            and (not self.several or scope.has(Feature.KERNEL_OUTPUTS))
            and (self.written is None or scope.has(Feature.SYMBOLIC_KERNELS))
        )

    def build(self, shapes: Shapes, dtype: str) -> Any:
        """Return the PrimFunc for operand shapes (names stand for dims known at run time only)."""
        if self.compute is None:
            assert self.written is not None
            return self.written()
        symbols: dict[str, Any] = {}

        def dim(part: int | str) -> Any:
            if isinstance(part, int):
                return tirx.IntImm("int64", part)
            if part not in symbols:
                symbols[part] = tirx.Var(part, "int64")
            return symbols[part]

        inputs = [
            te.placeholder([dim(part) for part in shape], dtype, name=chr(ord("A") + index))
            for index, shape in enumerate(shapes)
        ]
        made = te.create_prim_func([*inputs, *self.compute(*inputs)], index_dtype_override="int64")
        return made.without_attr("global_symbol").with_attr("tirx.noalias", True)


def static(scope: Scope) -> bool:
    """Say whether kernels of this case take tensors of static shapes only."""
    return not scope.has(Feature.SYMBOLIC_KERNELS)


def _one(scope: Scope, dtypes: tuple[str, ...] = NUMBERS, ranks: tuple[int, ...] | None = None) -> list[Value]:
    return [scope.tensor(dtypes=dtypes, ranks=ranks, static=static(scope))]


def _two(scope: Scope) -> list[Value]:
    first = _one(scope)[0]
    return [first, scope.tensor_like(first)]


def _float_matrix(scope: Scope) -> list[Value]:
    return _one(scope, ("float32",), (2,))


def _matrices(scope: Scope) -> list[Value]:
    dtypes = ("float32", "float64")

    def summed(value: Value) -> bool:  # a block that sums over nothing never writes its zero
        return scope.dim_range((value.dims or (0, 0))[1])[0] > 0

    left = scope.tensor(dtypes=dtypes, ranks=(2,), static=static(scope), bounds=Bounds(-8.0, 8.0), where=summed)
    rows = left.shape[1]
    right = scope.tensor(dtypes=(left.dtype,), shape=(rows, 2), bounds=Bounds(-8.0, 8.0))
    return [left, right]


def _same(*shapes: Shape) -> list[Shape]:
    return [shapes[0]]


def _like(compute: Callable[..., Any]) -> Callable[..., list[Any]]:
    """Return one output of the shape of the first operand, element by element."""

    def build(*inputs: Any) -> list[Any]:
        shape = inputs[0].shape
        return [te.compute(shape, lambda *i: compute(*[tensor(*i) for tensor in inputs]), name="T_out")]

    return build


def _scale_and_shift(tensor: Any) -> list[Any]:
    scaled = te.compute(tensor.shape, lambda *i: tensor(*i) * tirx.const(2, tensor.dtype), name="T_scaled")
    shifted = te.compute(tensor.shape, lambda *i: tensor(*i) + tirx.const(1, tensor.dtype), name="T_shifted")
    return [scaled, shifted]


def _two_stages(tensor: Any) -> list[Any]:
    stage = te.compute(tensor.shape, lambda *i: tensor(*i) + tirx.const(1, tensor.dtype), name="T_stage")
    return [te.compute(tensor.shape, lambda *i: stage(*i) * tirx.const(2, tensor.dtype), name="T_out")]


def _written(*writes: tuple[bool, int], in_place: bool = False) -> Callable[[], Any]:
    """Return a kernel of a float32 matrix of symbolic dims, which serves all shapes.

    For each of ``writes`` it has a block: whether it writes the matrix transposed, and what it multiplies it by.
    """

    def build() -> Any:
        kernel = KernelBuilder()
        dims = [tirx.Var(name, "int64") for name in "nm"]
        source = kernel.operand(Value(None, relax.TensorType(dims, "float32"), Bounds(-1.0, 1.0)))
        for turned, factor in writes:
            variables, reads = axes(source.extents), Reads()
            term = reads.load(source, variables)
            if factor != 1:
                term = replace(term, expr=term.expr * tirx.const(factor, "float32"))
            extents = source.extents[::-1] if turned else source.extents
            target = source if in_place else kernel.output(extents, source.bounds.scaled(factor), source.dtype)
            kernel.store(target, term, variables, (), reads, Nest(), turned=turned)
        return kernel.finish({"tirx.noalias": True})

    return build


_ONE = Bounds(1, 1, True)

KERNELS: tuple[Kernel, ...] = (
    Kernel("te_add", _two, _same, lambda a, b: [a + b], _like(lambda a, b: a + b)),
    Kernel("te_add_one", _one, _same, lambda a: [a + _ONE], _like(lambda a: a + 1)),
    Kernel("two_stages", _one, _same, lambda a: [(a + _ONE).scaled(2)], _two_stages),
    Kernel("topi_multiply", _two, _same, lambda a, b: [a * b], lambda a, b: [topi.multiply(a, b)]),
    Kernel("topi_maximum", _two, _same, lambda a, b: [a.maximum(b)], lambda a, b: [topi.maximum(a, b)]),
    Kernel("scale_and_shift", _one, lambda s: [s, s], lambda a: [a.scaled(2), a + _ONE], _scale_and_shift,
           several=True),
    Kernel("topi_transpose", lambda scope: _one(scope, ranks=(2,)),
           lambda s: [(s[1], s[0])], lambda a: [a], lambda a: [topi.transpose(a)]),
    Kernel("topi_matmul", _matrices, lambda a, b: [(a[0], b[1])], lambda a, b: [Bounds(-4096.0, 4096.0)],
           lambda a, b: [topi.matmul(a, b)]),
    Kernel("written_double", _float_matrix, _same, lambda a: [a.scaled(2)], written=_written((False, 2))),
    Kernel("transpose_and_double", _float_matrix, lambda s: [(s[1], s[0]), s], lambda a: [a, a.scaled(2)],
           written=_written((True, 1), (False, 2)), several=True),
    Kernel("negate_in_place", _float_matrix, _same, lambda a: [-a], written=_written((False, -1), in_place=True),
           in_place=True),
)  # fmt: skip
