"""Inspection of tensors at run time, views, and calls of packed functions that TVM always registers."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx

from strategies.operators.drawing import ANY, NUMBERS, SOME_RANK
from strategies.operators.row import OperatorFamily, Rows
from strategies.operators.shape import factorings
from strategies.scope.bounds import Bounds, dtype_bounds
from strategies.scope.features import Feature
from strategies.scope.scope import Scope
from strategies.scope.values import Value

ROWS = Rows(OperatorFamily.MEMORY)

op = relax.op


def _draw_inspect(scope: Scope, name: str, indexed: bool) -> Value:
    """Draw an inspection: its primitive value, of which nothing can be made, stays dead code or becomes a result."""
    ranks = SOME_RANK if indexed else (*SOME_RANK, 0)
    operand = scope.tensor(dtypes=ANY, ranks=ranks, where=scope.nonempty)
    place = scope.index(operand.rank)
    given = [operand.expr, tirx.IntImm("int64", place)] if indexed else [operand.expr]
    value = scope.emit(relax.Call(tvm.ir.Op.get(f"relax.inspect.{name}"), given))
    if value in scope.values:
        scope.values.remove(value)  # a shape may not speak of it, which is what scopes do with primitives
    return value


for _name in ("ndim", "dtype_code", "dtype_bits", "dtype_lanes", "byte_offset", "elem_offset", "shape_i", "stride_i"):
    ROWS.row(f"inspect.tensor_{_name}", OperatorFamily.INSPECT)(
        partial(_draw_inspect, name=f"tensor_{_name}", indexed=_name.endswith("_i"))
    )

_SAME_BITS = {
    "int32": ("uint32", 4),
    "uint32": ("int32", 4),
    "int16": ("uint16", 2),
    "uint16": ("int16", 2),
    "int8": ("uint8", 1),
    "uint8": ("int8", 1),
}
"""Dtypes whose numbers from 0 up are the same bits in another, and how many bytes."""


@ROWS.row("memory.view")
def draw_view(scope: Scope) -> Value | None:
    """Draw ``memory.view`` of a tensor in another static shape, as integers of the other sign, or of a part of it."""
    operand = scope.tensor(dtypes=ANY, static=True, where=lambda value: 0 not in value.shape)
    elements = math.prod(operand.shape)
    way, known = scope.index(6), operand.known
    if way == 5 and elements > 1:
        return _part(scope, operand, elements)
    other = _SAME_BITS.get(operand.dtype)
    if way == 4 and other is not None and known.lo >= 0 and dtype_bounds(other[0]).contains(known):
        shape = None if scope.flip() else scope.shape_expr(operand.shape)
        return scope.emit(op.memory.view(operand.expr, shape, other[0]), known)
    shape = scope.shape_expr(scope.pick(factorings(elements)))
    return scope.emit(op.memory.view(operand.expr, shape, _no_dtype(scope, operand)), known)


def _no_dtype(scope: Scope, operand: Value) -> Any:
    """Spell that the dtype stays: the dtype it has, or the empty tuple.

    By default ``relax.op.memory.view`` writes ``null_value()`` there, which becomes a binding of its own; where the
    well-formedness check does not know that binding, it takes the dtype of the view for unknown and refuses the module.
    """
    return operand.dtype if scope.flip() else relax.Tuple([])


def _part(scope: Scope, operand: Value, elements: int) -> Value:
    """Draw a view that begins inside the buffer; kernels take it only after ``ensure_zero_offset`` ("expected 0")."""
    first = scope.integer(1, min(elements - 1, 16))
    width = np.dtype(operand.dtype).itemsize
    shape = scope.shape_expr((elements - first,))
    view = scope.emit(op.memory.view(operand.expr, shape, _no_dtype(scope, operand), first * width), operand.known)
    if view in scope.values:
        scope.values.remove(view)
    return scope.emit(op.memory.ensure_zero_offset(view.expr), operand.known)


@ROWS.row("memory.ensure_zero_offset")
def draw_ensure_zero_offset(scope: Scope) -> Value | None:
    """Draw ``memory.ensure_zero_offset``: the tensor itself unless it is a view into the middle of a buffer."""
    operand = scope.tensor(dtypes=ANY)
    return scope.emit(op.memory.ensure_zero_offset(operand.expr), operand.known)


@ROWS.row("call_dps_packed", feature=Feature.PACKED_CALLS)
def draw_call_dps_packed(scope: Scope) -> Value | None:
    """Draw ``call_dps_packed`` of the runtime's copy from one tensor to another."""
    operand = scope.tensor(dtypes=ANY, where=scope.nonempty)
    ty = relax.TensorType(list(operand.shape), operand.dtype)
    return scope.emit(relax.call_dps_packed("runtime.TVMTensorCopyFromTo", [operand.expr], ty), operand.known)


@ROWS.row("call_pure_packed", feature=Feature.PACKED_CALLS)
def draw_call_pure_packed(scope: Scope) -> Value | None:
    """Draw ``call_pure_packed`` of what ``nonzero`` becomes: a fresh tensor with as many columns as there are."""
    operand = scope.tensor(dtypes=(*NUMBERS, "bool"), ranks=SOME_RANK, where=scope.nonempty)
    greatest = max(scope.dim_range(dim)[1] for dim in operand.shape) - 1
    ty = relax.TensorType(dtype="int64", ndim=2)
    call = op.call_pure_packed("relax.run.nonzero", operand.expr, ty_args=ty)
    return scope.emit(call, Bounds(0, max(greatest, 0), True))


@ROWS.row("call_inplace_packed")
def draw_call_inplace_packed(scope: Scope) -> Value | None:
    """Draw ``call_inplace_packed`` of the function that returns its argument: the result is the argument's buffer.

    The contents stay the same, so later uses of the argument see what they must.
    """
    operand = scope.tensor(dtypes=ANY)
    fresh = scope.emit(op.permute_dims(operand.expr), operand.known)
    ty = relax.TensorType(list(fresh.shape), fresh.dtype)
    call = op.call_inplace_packed("vm.builtin.copy", fresh.expr, inplace_indices=[0], ty_args=ty)
    return scope.emit(call, fresh.known)
