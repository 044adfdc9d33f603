"""Passes that behave as TVM's did before a defect was repaired (or when a repair was first proposed).

Each is a module pass in Python over today's passes, faithful to the published cause: it shows that an oracle would
catch the defect if it came back.  None of them hides or adds anything else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oracles.contract import Contract, Idempotence, NumericPromise


def _replica(name: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Give the factory the contract of the pass that it stands for: the repaired pass is what it is judged as."""

    def mark(factory: Callable[[], Any]) -> Callable[[], Any]:
        # An attribute of the factory is how a user's pass brings its contract.
        setattr(factory, "contract", Contract(name, Idempotence.IDEMPOTENT))  # noqa: B010
        return factory

    return mark


def lift_transform_params_duplicate() -> Any:
    """LiftTransformParams of apache/tvm#17200: it adds the transform function without looking for an existing one.

    Each function with ``num_input`` is lifted alone, so that today's search of the module finds nothing, and its
    ``<name>_transform_params`` is added under a new ``GlobalVar``.  A module's global names are unique, so the
    second application fails in ``IRModule::Add`` with the published check.
    """
    import tvm
    from tvm import relax

    lift = relax.transform.LiftTransformParams()

    @tvm.transform.module_pass(opt_level=1, name="LiftTransformParams")
    def run(module: Any, _context: Any) -> Any:
        out = tvm.IRModule(dict(module.functions_items()), attrs=module.attrs, global_infos=module.global_infos)
        for var, function in module.functions_items():
            if not isinstance(function, relax.Function) or not function.attrs or "num_input" not in function.attrs:
                continue
            if var.name_hint.endswith("transform_params"):
                continue
            lifted = lift(tvm.IRModule({var: function}, global_infos=module.global_infos))
            for new_var, new_function in lifted.functions_items():
                if new_var.name_hint == var.name_hint:
                    out.update_func(var, new_function)
                else:
                    out[tvm.ir.GlobalVar(new_var.name_hint)] = new_function
        return out

    return run


def realize_vdevice_in_place() -> Any:
    """RealizeVDevice of apache/tvm#17205: its first step writes the devices into the input.

    The first step put the device of a hint into the types of the hint's operand and of what it derives from, in
    place, and then removed the hints whose operand had had no device.  A second application therefore met operands
    that had one already, took their hints for changes of device, and left them.
    """
    import tvm
    from tvm import relax

    realize = relax.transform.RealizeVDevice()

    @tvm.transform.module_pass(opt_level=0, name="RealizeVDevice")
    def run(module: Any, _context: Any) -> Any:
        out = realize(module)
        for var, function in module.functions_items():
            if not isinstance(function, relax.Function):
                continue
            if _operand_has_device(function):
                out.update_func(var, function)
            elif _has_hint(function):
                module.update_func(var, _with_devices_and_hints(out[var.name_hint], function))
        return out

    return run


def merge_composite_by_object() -> Any:
    """MergeCompositeFunctions as first repaired in apache/tvm#17212: one group map, keyed by object, over all functions.

    Every function without ``Composite`` and ``Codegen`` got its groups, and the maps of all of them were united with a
    check that no object came twice.  An expression without variables, such as a static ``ShapeExpr``, may be one object
    in two functions, and the check then failed.
    """
    import tvm
    from tvm import relax

    merge = relax.transform.MergeCompositeFunctions()

    @tvm.transform.module_pass(opt_level=0, name="MergeCompositeFunctions")
    def run(module: Any, _context: Any) -> Any:
        group_map: set[Any] = set()
        judged = []
        for var, function in module.functions_items():
            attrs = function.attrs or {}
            if isinstance(function, relax.Function) and "Composite" not in attrs and "Codegen" not in attrs:
                judged.append(var)
                for obj in _objects(function):
                    if obj in group_map:
                        raise tvm.error.InternalError("Check failed: (!group_map.count(obj)) is false: ")
                for obj in _objects(function):
                    group_map.add(obj)
        return merge(module) if len(judged) == 1 else module

    return run
