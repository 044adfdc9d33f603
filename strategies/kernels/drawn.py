"""Drawn kernels: PrimFuncs that no table holds, of one to three stages, with the call that uses them.

Operands are values at hand; every kernel has true bounds for them, reads nothing out of its buffers and divides by
nothing that may be zero.  Names of drawn kernels begin with :data:`PREFIX`, by which they are found again.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tvm import relax, tirx

from strategies.kernels.builder import BufferSource, KernelBuilder, KernelStage, Nest
from strategies.kernels.stages import STAGES, Extents, elementwise
from strategies.scope.bounds import Bounds, is_float
from strategies.scope.features import Feature
from strategies.scope.scope import Scope
from strategies.scope.values import Value, stretches

PREFIX = "drawn"
DTYPES = ("float32", "float16", "float64", "int32", "int64", "int8", "uint8")
MAX_STAGES = 3
MOST_ELEMENTS = 2048
"""A stage that could make more is left out."""
PATTERN = "op_pattern"
OPAQUE = 8


def draw(scope: Scope) -> Value:
    """Bind a ``call_tir`` of a drawn kernel; gives an output."""
    return _draw(scope, scope.has(Feature.SYMBOLIC_KERNELS), False, False)


def draw_symbolic(scope: Scope) -> Value:
    """Bind a call of a drawn kernel that has a symbolic buffer, a scalar parameter, or both."""
    return _draw(scope, True, True, False)


def draw_outputs(scope: Scope) -> Value:
    """Bind a call of a drawn kernel with several outputs."""
    return _draw(scope, scope.has(Feature.SYMBOLIC_KERNELS), False, True)


def _draw(scope: Scope, symbolic: bool, scalar: bool, several: bool) -> Value:
    kernel = KernelBuilder()
    values = _operands(scope, symbolic)
    sources: list[BufferSource] = [kernel.operand(value) for value in values]
    arguments = [value.expr for value in values]
    scalars = []
    if symbolic and (scalar or scope.index(4) == 3):
        number = _number(scope)
        scalars.append(kernel.scalar(number))
        arguments.append(number)
    extents = Extents(scope.dim_range, symbolic and scope.has(Feature.SHAPE_EXPRESSIONS), tuple(scalars))
    count = 1 + scope.index(MAX_STAGES)
    outputs = several or scope.has(Feature.KERNEL_OUTPUTS)
    patterns = []
    count = max(2, count) if several else count
    for number in range(count):
        scope.renew()
        last = number == count - 1
        stage = _stage(scope, sources, extents)
        kept = last or (outputs and (several or scope.index(3) == 2))
        made = kernel.block(stage, kept=kept, nest=functools.partial(_nest, scope))
        patterns.append(stage.pattern)
        sources = [made, *[source for source in sources if source.dtype == made.dtype]]
    attrs = _attributes(scope, patterns, len(values))
    var = scope.builder.add_func(kernel.finish(attrs), PREFIX)
    types = [relax.TensorType([extent.outer for extent in out.extents], out.dtype) for out in kernel.results]
    call = relax.call_tir(var, arguments, types[0] if len(types) == 1 else types)
    return emit_outputs(scope, call, types, [known(out) for out in kernel.results], None)


def _operands(scope: Scope, symbolic: bool) -> list[Value]:
    """Draw one to three operands, of which the others are broadcast to the first."""
    first = scope.tensor(dtypes=DTYPES, ranks=range(5), static=not symbolic)
    values = [first]
    dtypes = (first.dtype,) if scope.index(4) < 3 else DTYPES
    dims = tuple(first.shape)
    for _ in range(scope.index(3)):
        if scope.index(3) == 2:
            known = [v for v in reversed(scope.tensors()) if v.dtype in dtypes and stretches(v.shape, dims)]
            known = [v for v in known if v.device is None]
            values.append(scope.pick(known) if known else first)
        else:
            values.append(scope.tensor(dtypes=dtypes, shape=dims))
    return values


def _number(scope: Scope) -> Any:
    """Draw a number for a scalar parameter, at least 1: a symbolic dim, an expression over one, or a literal."""
    symbols = [symbol for symbol in scope.frame.symbol_list if scope.dim_range(symbol)[0] >= 1]
    way = scope.index(4)
    if not symbols or way == 3:
        return tirx.IntImm("int64", 1 + scope.index(4))
    symbol = scope.pick(symbols)
    return symbol if way < 2 else symbol + 1


def _stage(scope: Scope, sources: Sequence[BufferSource], extents: Extents) -> KernelStage:
    """Return a stage that fits the sources: the drawn one, or element-wise work."""
    stage = scope.pick(STAGES)(scope, sources, extents)
    if stage is None or scope.most_elements([extent.outer for extent in stage.extents]) > MOST_ELEMENTS:
        return elementwise(scope, sources, extents)
    return stage


def _nest(scope: Scope, count: int) -> Nest:
    """Say how the loops over a block are written: mostly as TE would."""
    way = scope.index(12)
    if count == 0 or way < 6:
        return Nest(bare=way == 5)
    order = list(range(count))
    if way < 9:
        at = scope.index(count)
        order = order[at:] + order[:at]
    return Nest(
        tuple(order),
        split=scope.index(count) if way in (8, 9) else -1,
        factor=2 + scope.index(2),
        fused=way == 10,
        unrolled=way == 11,
    )


def _attributes(scope: Scope, patterns: Sequence[int], operands: int) -> dict[str, Any]:
    """Return attributes that are true of the kernel; mostly the one that says that no two buffers overlap."""
    attrs: dict[str, Any] = {}
    if scope.index(8) < 7:
        attrs["tirx.noalias"] = True
    if scope.index(5) == 4:
        # A pattern says what fusion may do: of several blocks only that nothing is known of them.
        attrs[PATTERN] = patterns[0] if len(patterns) == 1 else OPAQUE
    if scope.index(8) == 7:
        attrs["layout_free_buffers"] = [scope.index(operands)]
    if scope.index(8) == 7:
        attrs["operator_name"] = scope.pick(("drawn.first", "drawn.second"))
    return attrs


def emit_outputs(
    scope: Scope, call: Any, types: Sequence[Any], bounds: Sequence[Bounds], first: int | None = 0
) -> Value:
    """Bind a call of a kernel; of several outputs the ``first`` is taken, or a drawn one, and sometimes the last."""
    if len(types) == 1:
        return scope.emit(call, bounds[0])
    whole = scope.emit_tuple(call, types, bounds)
    taken = scope.item(whole, scope.index(len(types)) if first is None else first)
    return scope.item(whole, len(types) - 1) if scope.index(2) else taken


def known(source: BufferSource) -> Bounds:
    """Return bounds of a result: whole numbers where the dtype has no others."""
    return source.bounds if is_float(source.dtype) else Bounds(source.bounds.lo, source.bounds.hi, True)
