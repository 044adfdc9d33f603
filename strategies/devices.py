"""Device hints: vdevice tables, ``hint_on_device`` and ``to_vdevice``."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from strategies.features import Feature
from strategies.scope import Scope
from strategies.values import Value

op = relax.op


def table(scope_index: int, executable: bool) -> tuple[Any, ...]:
    """A vdevice table: one CPU, or two.  A machine's VM has one CPU, so an executable module uses only the first."""
    devices = [relax.VDevice("llvm", 0, "global")]
    if scope_index:
        devices.append(relax.VDevice("llvm", 1, "global"))
    del executable
    return tuple(devices)


def hint(scope: Scope) -> Value:
    """Bind a hint or a move of a tensor to the first device, or (not executable) there and back to the second."""
    value = scope.tensor()
    devices = scope.module.vdevices
    way = scope.index(3)
    if way == 2 and len(devices) > 1 and not scope.executable:
        away = scope.emit(op.to_vdevice(value.expr, devices[1]), value.bounds, device=1)
        return scope.emit(op.to_vdevice(away.expr, devices[0]), value.bounds)
    if way == 1:
        return scope.emit(op.to_vdevice(value.expr, devices[0]), value.bounds)
    return scope.emit(op.hint_on_device(value.expr, tvm.cpu(0)), value.bounds)


def typed(scope: Scope) -> bool:
    """Whether this function's parameters carry the first vdevice in their types."""
    return scope.has(Feature.VDEVICE) and bool(scope.module.vdevices) and scope.index(2) == 1
