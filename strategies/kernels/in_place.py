"""Kernels that write into their operands, through ``call_tir_inplace``.

The operator's documentation leaves it to the caller that nothing else lives in what is overwritten: each operand that
is, is made for the call and leaves the scope with it.  It is the sum of a value at hand and a number that no other sum
of the module has, so that no pass that merges equal calls makes two of them one.
"""

from __future__ import annotations

from tvm import relax

from strategies.kernels.builder import BufferSource, KernelBuilder
from strategies.kernels.drawn import DTYPES, known
from strategies.kernels.stages import combine
from strategies.scope.bounds import Bounds, holds, is_float
from strategies.scope.features import Feature
from strategies.scope.scope import Scope
from strategies.scope.values import Value

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
    written: list[BufferSource] = []
    for index in indices:
        others = [source for at, source in enumerate(sources) if at != index]
        written.append(combine(scope, kernel, [*sources[index:][:1], *others] if index >= 0 else others, index >= 0))
        if index >= 0:
            sources[index] = written[-1]
    var = scope.builder.add_func(kernel.finish({"tirx.noalias": True}), NAME)
    types = [relax.TensorType(list(first.shape), first.dtype) for _ in indices]
    call = relax.op.call_tir_inplace(var, relax.Tuple([value.expr for value in values]), list(indices), types)
    # An operand that was overwritten twice is what it was last.
    bounds = [known(sources[index] if index >= 0 else out) for index, out in zip(indices, written, strict=True)]
    if len(indices) == 1:
        return scope.emit(call, bounds[0])
    whole = scope.emit_tuple(call, types, bounds)
    return scope.item(whole, scope.index(len(indices)))


def fresh(scope: Scope, value: Value) -> Value:
    """Draw a copy of a value that nothing but the next call sees."""
    number = 1 + scope.module.next_number(NAME) % _SPREAD
    bounds = value.known + Bounds(number, number, True)
    if not holds(value.dtype, bounds):
        value = scope.guard(value, Bounds(0, 2, not is_float(value.dtype)))
        bounds = value.known + Bounds(number, number, True)
    made = scope.emit(relax.op.add(value.expr, relax.const(number, value.dtype)), bounds.rounded())
    scope.values.remove(made)  # the call consumes it
    return made
