"""Device hints: vdevice tables, ``hint_on_device`` and ``to_vdevice``, and computation on a second device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
from tvm import relax

from strategies.scope.bounds import FLOAT8, Bounds
from strategies.scope.features import Feature
from strategies.scope.scope import Scope
from strategies.scope.values import Value

op = relax.op

_ELSEWHERE = (("llvm", 1, "global"), ("llvm", 2, "global"))
_UNREACHABLE = (("llvm", 0, "global.texture"), ("llvm", 1, "shared"), ("c", 0, "global"))
"""What the reference machine, with four llvm devices of the scope ``global``, allocates nothing on."""


def table(scope: Scope) -> tuple[Any, ...]:
    """Draw a vdevice table: one CPU; two or three, the second of which values move to; others that stand there unused.

    The virtual machine takes an entry's place in the table for the number of its device, so that an executable module
    names its devices in their order. On a machine that need not execute the module, values may live in any entry, other
    memory scopes included.
    """
    entries: list[tuple[str, int, str]] = [("llvm", 0, "global")]
    if scope.has(Feature.SEVERAL_VDEVICES):
        entries.append(_ELSEWHERE[0] if scope.executable else scope.pick((*_ELSEWHERE, *_UNREACHABLE)))
        entries += _ELSEWHERE[1:] if scope.index(3) == 2 and entries[1] == _ELSEWHERE[0] else ()
    others = _UNREACHABLE if scope.executable else (*_ELSEWHERE, *_UNREACHABLE)
    rest = [entry for entry in others if entry not in entries]
    while rest and scope.index(4) == 3:
        entries.append(rest.pop(scope.index(len(rest))))
    return tuple(relax.VDevice(*entry) for entry in entries)


def hint(scope: Scope) -> Value:
    """Bind a hint or a move of a tensor to the first device, or a walk over the second one."""
    if scope.has(Feature.SEVERAL_VDEVICES) and scope.index(2):
        return elsewhere(scope)
    value = scope.tensor()
    way = scope.index(4)
    if way == 1 or not _may_hint(scope, value):
        return scope.emit(op.to_vdevice(value.expr, scope.module.vdevices[0]), value.bounds)
    if way == 3 and _hintable(scope, value):
        return _there_and_back(scope, value)
    return scope.emit(op.hint_on_device(value.expr, tvm.cpu(0)), value.bounds)


def elsewhere(scope: Scope) -> Value:
    """Move a tensor to the second device, compute there, and bring something back.

    What stays there is seen only by steps on that device: mixing devices is an error of type inference. A constant
    tensor lives on the first device, and so does what ``full`` makes, so that operators there take neither.
    """
    here, there = scope.module.vdevices[:2]
    value = scope.tensor()
    away = [scope.emit(op.to_vdevice(value.expr, there), value.bounds, device=1)]
    at_hand = [v for v in scope.values if v.device == 1 and v.is_tensor and v is not away[0]]
    for _ in range(1 + scope.index(3)):
        source = scope.pick([*away[::-1], *at_hand[::-1]])
        away.append(_computed(scope, source, [*away, *at_hand]))
    last = away[-1]
    return scope.emit(op.to_vdevice(last.expr, here), last.bounds)


def _may_hint(scope: Scope, value: Value) -> bool:
    """Say whether the first device may be hinted: RealizeVDevice gives parameters of a called function a device that
    the arguments of its calls have not, and then refuses the module (a defect of TVM's)."""
    known = value.ty.vdevice is not None or not scope.frame.called
    return known or not (scope.executable and (scope.module.strict or scope.index(8) < 7))


def _hintable(scope: Scope, value: Value) -> bool:
    """Say whether a value may be hinted to the second device.

    A hint says where a value should have been all along: without a device of its own its type, and those of the
    parameters that it was made of, would change, and callers would have to know.
    """
    if not scope.has(Feature.SEVERAL_VDEVICES) or scope.frame.device is None or value.ty.vdevice is None:
        return False
    device = scope.module.vdevices[1]
    return isinstance(value.expr, relax.Var) and device.target.kind.name == "llvm" and device.memory_scope == "global"


def _there_and_back(scope: Scope, value: Value) -> Value:
    """Hint a value to the second device, compute, and hint the result to the first; types say nothing of it yet."""
    device = scope.module.vdevices[1]
    mark = len(scope.values)
    hinted = scope.emit(op.hint_on_device(value.expr, tvm.cpu(int(device.vdevice_id))), value.bounds)
    made = scope.emit(op.permute_dims(hinted.expr), value.bounds)
    del scope.values[mark:]
    return scope.emit(op.hint_on_device(made.expr, tvm.cpu(0)), value.bounds)


def _computed(scope: Scope, value: Value, others: list[Value]) -> Value:
    """Draw an operator on values of the second device."""
    alike = [v for v in others if v.dtype == value.dtype and v.dims == value.dims]
    if value.dtype != "bool" and scope.index(2):
        other = scope.pick(alike[::-1] or [value])
        bounds = value.known.union(other.known)
        return scope.emit(op.maximum(value.expr, other.expr), bounds, device=1)
    if "float" in value.dtype and value.dtype not in FLOAT8:  # TVM's unary inference takes no float8
        function, bounds = scope.pick(_FLOAT)
        return scope.emit(function(value.expr), bounds, device=1)
    return scope.emit(op.permute_dims(value.expr), value.bounds, device=1)


_FLOAT: tuple[tuple[Callable[[Any], Any], Bounds], ...] = (
    (op.tanh, Bounds(-1.0, 1.0)),
    (op.sigmoid, Bounds(0.0, 1.0)),
    (op.cos, Bounds(-1.0, 1.0)),
)


def typed(scope: Scope) -> bool:
    """Say whether this function's parameters carry the first vdevice in their types."""
    return scope.index(2) == 1 and bool(scope.module.vdevices)
