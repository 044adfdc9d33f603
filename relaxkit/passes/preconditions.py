"""Preconditions of passes: each takes the module and says why the pass is not meant for it, or ``None``.

A precondition may only state what a pass documents about its input. It must not step round a defect.
"""

from __future__ import annotations

from typing import Any

from tvm import relax

from relaxkit.ir.functions import has_attribute, relax_functions
from relaxkit.ir.lowered import KILLING
from relaxkit.ir.types import flat, has_distributed_tensors
from relaxkit.ir.walk import expressions_in, operator_of, places


def has_transform_params(module: Any) -> bool:
    """Say whether some Relax function's name ends in ``transform_params``."""
    return any(name.endswith("transform_params") for name, _ in relax_functions(module))


def needs_transform_params(module: Any) -> str | None:
    """LazyTransformParams works on functions whose name ends in ``transform_params``, and on nothing else.

    What LazyGetInput made of one takes a callback already: it is outside the contract, as is the pass's own output.
    """
    found = [function for name, function in relax_functions(module) if name.endswith("transform_params")]
    if not found:
        return "no transform_params function"
    if any(isinstance(param.ty, relax.FuncType) for function in found for param in function.params):
        return "the transform function takes a callback"
    fetched = (relax.TensorType, relax.TupleType)
    if not any(isinstance(param.ty, fetched) for function in found for param in function.params):
        return "the transform function takes nothing"
    if not all(isinstance(function.ret_ty, relax.TupleType) for function in found):
        return "the transform function gives no tuple"
    return None


def transforms_of_weights(module: Any) -> str | None:
    """LiftTransformParams reserves names that end in ``transform_params`` for functions that transform weights.

    It makes all of them public, and a new one takes what the old one gives: "If the module already contains
    `transform_params`, the functions are composed together" (TVM's test_lift_transform_when_one_already_exists).
    So the function takes one bundle behind its inputs and gives a tuple of its function's weights.
    """
    functions = dict(relax_functions(module))
    for name, transform in functions.items():
        if not name.endswith("transform_params"):
            continue
        bundled = [isinstance(param.ty, relax.TupleType) for param in transform.params]
        count = int(transform.attrs["num_input"]) if has_attribute(transform, "num_input") else -1
        gives = transform.ret_ty
        if bundled[count:] != [True] or count < 0 or not isinstance(gives, relax.TupleType):
            return "a function has a reserved name, and is no transform"
        user = functions.get(name.removesuffix("_transform_params")) if name != "transform_params" else None
        if user is not None and has_attribute(user, "num_input"):
            weights = relax.TupleType([param.ty for param in user.params[int(user.attrs["num_input"]) :]])
            if relax.analysis.type_base_check(weights, gives) == relax.analysis.BaseCheckResult.FAIL_L0:
                return "a transform gives other weights than its function takes"
    return None


def needs_num_input(module: Any) -> str | None:
    """LiftTransformParams and BundleModelParams work on functions with the attribute ``num_input``."""
    if any(has_attribute(function, "num_input") for _, function in relax_functions(module)):
        return None
    return "no function with num_input"


def valid_num_input(module: Any) -> str | None:
    """``num_input`` counts leading parameters, so it cannot exceed their number (the passes ICHECK this)."""
    for _, function in relax_functions(module):
        if has_attribute(function, "num_input") and int(function.attrs["num_input"]) > len(function.params):
            return "num_input exceeds the parameters"
    return None


def needs_vdevices(module: Any) -> str | None:
    """UpdateVDevice replaces an entry of ``global_infos["vdevice"]``, which must exist."""
    return None if "vdevice" in module.global_infos else "no vdevice in global_infos"


def hints_listed(module: Any) -> str | None:
    """AnnotateCustomMemoryScope runs RealizeVDevice, which looks up hinted devices in the module's table.

    realize_vdevice.cc, VDeviceLookup. RealizeVDevice itself refuses others.
    """
    table = module.global_infos.get("vdevice", ())
    listed = {(int(each.target.get_target_device_type()), int(each.vdevice_id), each.memory_scope) for each in table}
    hints = [each.attrs for each in expressions_in(module) if operator_of(each) == "relax.hint_on_device"]
    if all((int(each.device_type), int(each.index), each.memory_scope) in listed for each in hints):
        return None
    return "a hint names a device that the module does not list"


def external_workspaces(module: Any) -> str | None:
    """AllocateWorkspace appends a workspace "to the arguments of external functions" (its documentation)."""
    asking = [function for _, function in relax_functions(module) if has_attribute(function, "WorkspaceSize")]
    marked = all(has_attribute(each, "Codegen") or has_attribute(each, "Composite") for each in asking)
    return None if marked else "a function that is not external asks for a workspace"


def annotated_parameters_used(module: Any) -> str | None:
    """PropagateSharding refuses a tensor that it cannot give a mesh: only uses connect a parameter with an annotation.

    propagate_sharding.cc, ConvertToDTensorType: "is not assigned device mesh".
    """
    for _, function in relax_functions(module):
        tensors = {each for each in function.params if any(isinstance(ty, relax.TensorType) for ty in flat(each.ty))}
        asked = any(operator_of(place.value) == "relax.dist.annotate_sharding" for place in places(function))
        if asked and not tensors <= {*relax.analysis.free_vars(function.body)}:
            return "an annotated function has a tensor that nothing uses"
    return None


def no_cuda_graphs(module: Any) -> str | None:
    """RewriteCUDAGraph moves the calls of a graph into new functions, which it is not meant to rewrite again."""

    def launches(expr: Any) -> bool:
        return isinstance(expr, relax.ExternFunc) and str(expr.global_symbol).startswith("vm.builtin.cuda_graph.")

    return "has CUDA graphs already" if any(map(launches, expressions_in(module))) else None


def no_lowered_allocations(module: Any) -> str | None:
    """RewriteCUDAGraph recognizes allocations only before LowerRuntimeBuiltin; TVM's pipelines run it before that.

    A lowered allocation it takes for a call like any other, and captures it (transform/rewrite_cuda_graph.cc).
    """
    lowered = ("relax.vm.alloc_storage", "relax.vm.alloc_tensor")
    return "allocations are lowered" if any(operator_of(expr) in lowered for expr in expressions_in(module)) else None


def no_calls_in_place(module: Any) -> str | None:
    """A pass that moves or merges bindings may make an operand be read after such a call has overwritten it.

    Such calls are for passes "that have checked whether it is safe" (docstring of ``call_tir_inplace``): that nothing
    reads the operand later, in the order of that moment. Dataflow does not show that a call overwrites an operand.
    """
    found = any(operator_of(expr) == "relax.call_tir_inplace" for expr in expressions_in(module))
    return "calls a kernel in place" if found else None


def nothing_killed(module: Any) -> str | None:
    """A pass that replaces one variable with another may make it be used after it has been killed.

    KillAfterLastUse is documented to drop "all tensor/storage objects after last use": of the uses of that moment.
    """
    return "variables are killed" if any(operator_of(expr) in KILLING for expr in expressions_in(module)) else None


_NAMES = (relax.Var, relax.Tuple, relax.TupleGetItem)


def nothing_killed_has_two_names(module: Any) -> str | None:
    """KillAfterLastUse replaces aliases of a variable with the variable, which may already have been killed there.

    What is killed already stays so otherwise: kill_after_last_use.cc, ``killed_objects_``.
    """
    killed: set[Any] = set()
    named: set[Any] = set()
    for _, function in relax_functions(module):
        for place in places(function):
            value = place.value
            if operator_of(value) in KILLING:
                killed.update(value.args)
            elif isinstance(value, _NAMES) or isinstance(place.binding, relax.MatchCast):
                named.update((place.var, *relax.analysis.free_vars(value)))
    return "variables are killed that have other names" if killed & named else None


def no_distributed_tensors(module: Any) -> str | None:
    """LowerDistIR turns a program on distributed tensors (DistIR) into Relax first, as its docstring says.

    Only the passes of ``relax.distributed`` take it, and in TVM's tests DeadCodeElimination.
    """
    functions = relax_functions(module) if "mesh" in module.global_infos else ()
    return "has distributed tensors" if any(has_distributed_tensors(each) for _, each in functions) else None


def no_library_prefix(module: Any) -> str | None:
    """AttachGlobalSymbol puts the attribute ``system_lib_prefix`` in front of every name, and so renames functions."""
    return "has a system_lib_prefix" if has_attribute(module, "system_lib_prefix") else None


def no_altered_kernels(module: Any) -> str | None:
    """AlterOpImpl is given layouts by the names of kernels, which stay the same although its output has other layouts.

    Its documentation: the replacement may have "different layouts on i/o buffers"; layout transformations are inserted
    at the call sites of what is replaced. Where LegalizeOps has lowered them since, the replacement is known by the
    name that transform/alter_op_impl.cc gives it, ``<operator_name>_replacement``.
    """

    def altered(expr: Any) -> bool:
        for block in expr.blocks if isinstance(expr, relax.SeqExpr) else ():
            values = {binding.var: binding.value for binding in block.bindings}
            for value in values.values():
                if operator_of(value) == "relax.call_tir" and has_attribute(module[value.args[0]], "operator_name"):
                    made = [values.get(item) for item in value.args[1].fields if isinstance(item, relax.Var)]
                    laid_out = any(operator_of(item) == "relax.layout_transform" for item in made)
                    if laid_out or "_replacement" in value.args[0].name_hint:
                        return True
        return False

    return "kernels are altered already" if any(map(altered, expressions_in(module))) else None


def private_composites(module: Any) -> str | None:
    """MergeCompositeFunctions makes local functions of composite ones, and keeps their attributes.

    Those of FuseOpsByPattern, whose output it is for, are private. One with a symbol (AttachGlobalSymbol gives it one
    "for codegen", the last step) becomes a local function with the symbol of a global one.
    """
    for _, function in relax_functions(module):
        if has_attribute(function, "Composite") and has_attribute(function, "global_symbol"):
            return "a composite function is public"
    return None
