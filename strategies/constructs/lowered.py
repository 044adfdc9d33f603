"""Code that is lowered already: allocations and direct calls of kernels, as ``CallTIRRewrite`` and what follows leave.

A function with such code is impure or declared ``relax.force_pure``, and the code stands outside of dataflow blocks.
It says more than the passes in front of it ever write: tensors that are written twice or in place, two tensors in one
storage, memory that is given back early.  Only passes of the lowering stage, and those for any stage, are meant for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tvm import relax
from tvm.ir import Op

from strategies.kernels.builder import BufferSource, Extent, KernelBuilder, KernelStage
from strategies.kernels.drawn import DTYPES, known
from strategies.kernels.stages import Extents, combine, elementwise, reduce, transpose
from strategies.scope.features import Feature
from strategies.scope.frame import Infeasible
from strategies.scope.scope import Scope
from strategies.scope.values import Dim, Value

NAME = "stored"
ALIGNMENT = 64
_STAGES = (elementwise, elementwise, transpose, reduce)

op = relax.op

Allocate = Callable[[Scope, Sequence[Dim], str], Any]
"""Makes the call that allocates a tensor of a shape and dtype."""


def draw(scope: Scope) -> Value:
    """Allocate, call kernels on what was allocated, sometimes give memory back; gives a tensor that is filled.

    Raises:
        Infeasible: in a dataflow block or a function that must stay pure.
    """
    if scope.in_dataflow or scope.frame.pure_only:
        raise Infeasible("lowered code in a dataflow block or a pure function")
    if scope.forbids(Feature.DUPLICATE_CODE):
        raise Infeasible("two allocations of one type are equal calls")
    scope.frame.impure = True
    return scope.pick(_WAYS)(scope)


def _plain(scope: Scope) -> Value:
    """Draw one kernel into one tensor."""
    operands = _operands(scope)
    return _fill(scope, operands, scope.pick(_STAGES), _tensor)


def _chain(scope: Scope) -> Value:
    """Draw a kernel into a tensor that the next one reads, and that may be given back then."""
    first = _fill(scope, _operands(scope), scope.pick(_STAGES), _tensor)
    last = _fill(scope, [first], scope.pick(_STAGES), _tensor)
    if scope.index(3):
        _give_back(scope, first)
    return last


def _twice(scope: Scope) -> Value:
    """Draw a tensor that one kernel fills and another fills anew, or changes in place."""
    operands = _operands(scope)
    made = _fill(scope, operands, elementwise, _tensor)
    scope.values.remove(made)
    if scope.index(2):
        return _in_place(scope, made, operands)
    kernel = KernelBuilder()
    sources = [kernel.operand(value) for value in operands]
    target = kernel.block(elementwise(scope, sources, _extents(scope)))
    _call(scope, kernel, operands, [made.expr])
    return scope.see(Value(made.expr, made.ty, known(target)))


def _stored(scope: Scope) -> Value:
    """Draw a tensor in a storage of its own, which may be given back when another kernel has read the tensor."""
    operands = _operands(scope, static=True)
    storage, allocate = _storage(scope, operands[0])
    made = _fill(scope, operands, elementwise, allocate)
    if not scope.index(2):
        return made
    last = _fill(scope, [made], elementwise, _tensor)
    _give_back(scope, made)
    scope.builder.emit(op.memory.kill_storage(storage), "_")
    return last


def _reused(scope: Scope) -> Value:
    """Draw two tensors in one storage, the second when nobody reads the first any more, as the planner has it."""
    operands = _operands(scope, static=True)
    _, allocate = _storage(scope, operands[0])
    first = _fill(scope, operands, elementwise, allocate)
    between = _fill(scope, [first], elementwise, _tensor)
    if scope.index(2):
        _give_back(scope, first)
    else:
        scope.values.remove(first)
    return _fill(scope, [between], elementwise, allocate)


def _storage(scope: Scope, like: Value) -> tuple[Any, Allocate]:
    """Draw a storage with room for a tensor, and what allocates one in it; kernels take no tensor with an offset."""
    room = max(
        1, (math.prod(int(dim) for dim in like.shape) * np.dtype(like.dtype).itemsize)
    ) + ALIGNMENT * scope.index(2)
    call = op.memory.alloc_storage(relax.ShapeExpr([room]), 0, "global", "uint8")
    storage = scope.builder.emit(call, "storage")
    return storage, lambda scope, dims, dtype: op.memory.alloc_tensor(storage, 0, scope.shape_expr(dims), dtype)


def _pair(scope: Scope) -> Value:
    """Draw one kernel that fills two tensors."""
    operands = _operands(scope)
    kernel = KernelBuilder()
    sources = [kernel.operand(value) for value in operands]
    targets = [kernel.block(_stage(scope, stage, sources)) for stage in (elementwise, reduce)]
    tensors = [scope.emit(_tensor(scope, _outer(target.extents), target.dtype)) for target in targets]
    for tensor in tensors:
        scope.values.remove(tensor)
    _call(scope, kernel, operands, [tensor.expr for tensor in tensors])
    first, _ = (
        scope.see(Value(tensor.expr, tensor.ty, known(target))) for tensor, target in zip(tensors, targets, strict=True)
    )
    return first


_WAYS: tuple[Callable[[Scope], Value], ...] = (_plain, _chain, _twice, _stored, _reused, _pair)


def _operands(scope: Scope, static: bool = False) -> list[Value]:
    """Draw one or two tensors of one shape and dtype."""
    fixed = static or not scope.has(Feature.SYMBOLIC_KERNELS)
    first = scope.tensor(dtypes=DTYPES, ranks=range(5), static=fixed)
    return [first, scope.tensor_like(first)] if scope.index(2) else [first]


def _fill(
    scope: Scope, operands: Sequence[Value], stage: Callable[..., KernelStage | None], allocate: Allocate
) -> Value:
    """Allocate a tensor and call a kernel that fills it."""
    kernel = KernelBuilder()
    sources = [kernel.operand(value) for value in operands]
    target = kernel.block(_stage(scope, stage, sources))
    tensor = scope.emit(allocate(scope, _outer(target.extents), target.dtype), hint="alloc")
    scope.values.remove(tensor)  # nobody may read it before it is filled
    _call(scope, kernel, operands, [tensor.expr])
    return scope.see(Value(tensor.expr, tensor.ty, known(target)))


def _in_place(scope: Scope, value: Value, operands: Sequence[Value]) -> Value:
    """Call a kernel that overwrites a tensor with a function of it."""
    kernel = KernelBuilder()
    sources = [kernel.operand(operand) for operand in (value, *operands)]
    target = combine(scope, kernel, sources, True)
    _call(scope, kernel, (value, *operands), [])
    return scope.see(Value(value.expr, value.ty, known(target)))


def _stage(scope: Scope, stage: Callable[..., KernelStage | None], sources: Sequence[BufferSource]) -> KernelStage:
    """Return a stage over the sources, element-wise work where it does not fit."""
    return stage(scope, sources, _extents(scope)) or elementwise(scope, sources, _extents(scope))


def _call(scope: Scope, kernel: KernelBuilder, operands: Sequence[Value], tensors: Sequence[Any]) -> None:
    """Call a kernel in destination-passing style, for its effect."""
    var = scope.builder.add_func(kernel.finish({"tirx.noalias": True}), NAME)
    scope.builder.emit(relax.Call(var, [*(value.expr for value in operands), *tensors]), "_")


def _give_back(scope: Scope, value: Value) -> None:
    """Kill a tensor; nothing sees it any more."""
    scope.values.remove(value)
    kill = Op.get("relax.vm.kill_object" if scope.index(4) == 3 else "relax.memory.kill_tensor")
    scope.builder.emit(relax.Call(kill, [value.expr]), "_")


def _tensor(scope: Scope, dims: Sequence[Dim], dtype: str) -> Any:
    return op.builtin.alloc_tensor(scope.shape_expr(dims), dtype, 0)


def _extents(scope: Scope) -> Extents:
    return Extents(scope.dim_range, False)


def _outer(extents: Sequence[Extent]) -> list[Dim]:
    return [extent.outer for extent in extents]
