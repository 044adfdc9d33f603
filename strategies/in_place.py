"""Kernels that write into their operands, through ``call_tir_inplace``.

The operator's documentation leaves it to the caller that nothing else lives in what is overwritten: each operand that
is, is made for the call and leaves the scope with it.  It is the sum of a value at hand and a number that no other sum
of the module has, so that no pass that merges equal calls makes two of them one.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax, tirx

from strategies.bounds import Bounds, dtype_bounds
from strategies.drawn_kernels import DTYPES, known
from strategies.features import Feature
from strategies.kernel_builder import KernelBuilder, Nest, Reads, Source
from strategies.kernel_terms import joined
from strategies.scope import Scope
from strategies.values import Value

NAME = "in_place"
_SPREAD = 16
"""Distinct numbers that a fresh operand may be made with."""


def draw(scope: Scope) -> Value:
    """Bind a ``call_tir_inplace`` of a kernel of its own, with one or two operands overwritten; gives an output."""
    first = scope.tensor(dtypes=DTYPES, ranks=range(5), static=not scope.has(Feature.SYMBOLIC_KERNELS))
    several = scope.has(Feature.KERNEL_OUTPUTS)
    # What each output is: the number of the operand that it overwrites, or -1 for a new tensor.
    ways: tuple[tuple[int, ...], ...] = ((0,), (1,), (0, -1), (0, 1), (1, 0), (-1, 1))
    indices = scope.pick(ways if several else ways[:2])
    values = [fresh(scope, first) if 0 in indices else first]
    if any(index == 1 for index in indices) or scope.index(2):
        other = scope.tensor_like(first)
        values.append(fresh(scope, other) if 1 in indices else other)
    kernel = KernelBuilder()
    sources = [kernel.operand(value) for value in values]
    written: list[Source] = []
    for index in indices:
        written.append(_written(scope, kernel, sources, index))
        if index >= 0:
            sources[index] = written[-1]
    var = scope.builder.add_func(kernel.finish({"tirx.noalias": True}), NAME)
    types = [relax.TensorType(list(first.dims or ()), first.dtype) for _ in indices]
    call = relax.op.call_tir_inplace(var, relax.Tuple([value.expr for value in values]), list(indices), types)
    # An operand that was overwritten twice is what it was last.
    bounds = [known((sources[index] if index >= 0 else out).bounds, first.dtype)
              for index, out in zip(indices, written, strict=True)]  # fmt: skip
    if len(indices) == 1:
        return scope.emit(call, bounds[0])
    whole = scope.emit(call, parts=[Value(None, ty, each) for ty, each in zip(types, bounds, strict=True)])
    return scope.emit(relax.TupleGetItem(whole.expr, scope.index(len(indices))), part_of=whole)


def fresh(scope: Scope, value: Value) -> Value:
    """A copy of a value that nothing but the next call sees."""
    number = 1 + scope.module.next_number(NAME) % _SPREAD
    limit = dtype_bounds(value.dtype)
    bounds = value.known + Bounds(number, number, True)
    if not (limit.lo <= bounds.lo and bounds.hi <= limit.hi):
        value = scope.guard(value, Bounds(0, 2, limit.integral))
        bounds = value.known + Bounds(number, number, True)
    made = scope.emit(relax.op.add(value.expr, relax.const(number, value.dtype)), bounds.rounded())
    scope.values.remove(made)  # the call consumes it
    return made


def _written(scope: Scope, kernel: KernelBuilder, sources: Sequence[Source], index: int) -> Source:
    """Add the block that overwrites an operand, or fills a new output, element by element."""
    order = [sources[index], *[s for at, s in enumerate(sources) if at != index]] if index >= 0 else list(sources)
    extents = order[0].extents
    axes = [tirx.Var(f"v{at}", "int64") for at in range(len(extents))]
    reads = Reads()
    term = joined(scope, [reads.load(source, axes) for source in order], 2)
    if index < 0:
        target = kernel.output(extents, term.bounds, term.dtype)
    else:
        target = Source(order[0].buffer, extents, term.bounds, term.dtype)
    kernel.store(target, term, axes, (), reads, Nest())
    return target
