"""Passes that behave as TVM's did before a defect was repaired (or when a repair was first proposed).

Each is a module pass in Python over today's passes, faithful to the published cause: it shows that an oracle would
catch the defect if it came back.  None of them hides or adds anything else.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from relaxkit.ir.functions import is_composite, relax_functions
from relaxkit.ir.walk import expressions
from relaxkit.passes.contracts import CONTRACTS


def lift_transform_params_duplicate() -> tvm.ir.transform.Pass:
    """Make LiftTransformParams of apache/tvm#17200: it adds the transform function and looks for no existing one.

    Each function with ``num_input`` is lifted alone, so that today's search of the module finds nothing, and its
    ``<name>_transform_params`` is added under a new ``GlobalVar``.  A module's global names are unique, so the
    second application fails in ``IRModule::Add`` with the published check.
    """
    lift = relax.transform.LiftTransformParams()

    @tvm.transform.module_pass(opt_level=1, name="LiftTransformParams")
    def run(module: tvm.IRModule, _context: Any) -> tvm.IRModule:
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


def realize_vdevice_in_place() -> tvm.ir.transform.Pass:
    """Make RealizeVDevice of apache/tvm#17205: its first step writes the devices into the input.

    The first step (``HintOnDeviceRemover``) wrote the hint's device into the type of the hint's operand, from where the
    second step carried it on, all in the objects of the input, and it removed a hint only when its operand had had no
    device.  A second application therefore met operands that had one and left their hints.  Only hints in the
    function's own blocks are followed; in branches and local functions this is today's pass.
    """
    realize = relax.transform.RealizeVDevice()

    @tvm.transform.module_pass(opt_level=0, name="RealizeVDevice")
    def run(module: tvm.IRModule, _context: Any) -> tvm.IRModule:
        out = realize(module)
        for var, function in list(module.functions_items()):
            if not isinstance(function, relax.Function):
                continue
            hints = _hints(function)
            realized = out[var.name_hint]
            kept = [index for index, call in hints.items() if call.args[0].ty.vdevice is not None]
            if kept:
                out.update_func(var, _with_hints(realized, {index: hints[index] for index in kept}))
            if len(kept) < len(hints):
                module.update_func(var, _with_hints(realized, hints))
        return out

    return run


def _hints(function: relax.Function) -> dict[int, relax.Call]:
    """Find the ``hint_on_device`` calls of a function by the position of their binding among all of its blocks'."""
    hint = tvm.ir.Op.get("relax.hint_on_device")
    bindings = [binding for block in function.body.blocks for binding in block.bindings]
    values = [binding.value if isinstance(binding, relax.VarBinding) else None for binding in bindings]
    calls = {index: value for index, value in enumerate(values) if isinstance(value, relax.Call)}
    return {index: call for index, call in calls.items() if call.op.same_as(hint)}


def _with_hints(realized: relax.Function, hints: dict[int, relax.Call]) -> relax.Function:
    """Put the hints back that became aliases in a realised function; those that became transfers stay transfers."""
    builder, blocks, position = relax.BlockBuilder(), [], 0
    for block in realized.body.blocks:
        bindings = []
        for binding in block.bindings:
            if position in hints and isinstance(binding.value, relax.Var):
                call = builder.normalize(relax.Call(hints[position].op, [binding.value], hints[position].attrs))
                binding = relax.VarBinding(binding.var, call)
            bindings.append(binding)
            position += 1
        blocks.append(type(block)(bindings))
    body = relax.SeqExpr(blocks, realized.body.body)
    return relax.Function(realized.params, body, realized.ret_ty, realized.is_pure, realized.attrs)


def merge_composite_by_object() -> tvm.ir.transform.Pass:
    """Make MergeCompositeFunctions as first repaired in apache/tvm#17212: one group map by object over all functions.

    Every function without ``Composite`` and ``Codegen`` got its groups, and the maps of all of them were united with a
    check that no object came twice.  An expression without variables, such as a static ``ShapeExpr``, may be one object
    in two functions, and the check then failed.
    """
    merge = relax.transform.MergeCompositeFunctions()

    @tvm.transform.module_pass(opt_level=0, name="MergeCompositeFunctions")
    def run(module: tvm.IRModule, _context: Any) -> tvm.IRModule:
        group_map: list[relax.ShapeExpr] = []
        judged = [function for _, function in relax_functions(module) if not is_composite(function)]
        for function in judged:
            groups = _shapes(function)
            for shape in groups:
                if any(shape.same_as(other) for other in group_map):
                    raise tvm.error.InternalError("Check failed: (!group_map.count(obj)) is false: ")
            group_map += groups
        # What the pass did next with several functions is not published in full: it is left out.
        return merge(module) if len(judged) == 1 else module

    return run


def _shapes(function: relax.Function) -> list[relax.ShapeExpr]:
    """Return the ``ShapeExpr`` objects of a function, each once."""
    found: list[relax.ShapeExpr] = []
    for expr in expressions(function):
        if isinstance(expr, relax.ShapeExpr) and not any(expr.same_as(other) for other in found):
            found.append(expr)
    return found


# The contract of the pass that each stands for; an attribute of the factory is how a user's pass brings its own.
for _factory, _name in (
    (lift_transform_params_duplicate, "LiftTransformParams"),
    (realize_vdevice_in_place, "RealizeVDevice"),
    (merge_composite_by_object, "MergeCompositeFunctions"),
):
    setattr(_factory, "contract", CONTRACTS[_name])  # noqa: B010  # functions have none to mypy
