"""Devices in types that the module's table does not hold, so that nothing can be placed there."""

from __future__ import annotations

from typing import Any

from tvm import relax

from oracles.postconditions.common import parts_of_type
from oracles.preconditions import relax_functions


def has_strange_device(module: Any) -> bool:
    """Whether the type of a parameter, a value or a result names a device that is not in the module's table.

    TVM's checker does not look; a later pass that infers types afresh finds types that do not fit, and a build says
    that the device is not in the module (measured on UpdateVDevice, which leaves the old device in some types).
    """
    # By handle: in TVM 0.27 ``VDevice.same_as`` calls itself, by way of ``__eq__``, until the stack ends.
    table = {each.__chandle__() for each in (module.global_infos or {}).get("vdevice", ())}
    types: list[Any] = []
    for _, function in relax_functions(module):
        types.append(function.ret_ty)
        relax.analysis.post_order_visit(function, lambda expr: types.append(getattr(expr, "ty", None)))
    return any(
        isinstance(part, relax.TensorType) and part.vdevice is not None and part.vdevice.__chandle__() not in table
        for ty in types
        if ty is not None
        for part in parts_of_type(ty)
    )
