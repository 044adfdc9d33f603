"""Preconditions of passes: each takes the module and says why the pass is not meant for it, or ``None``.

A precondition may only state what a pass documents about its input. It must not step round a defect.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import tvm
from tvm import relax
from tvm.ir import Op

KILLING = frozenset({"relax.memory.kill_tensor", "relax.memory.kill_storage", "relax.vm.kill_object"})
"""Operators that empty a variable's register."""
_LOWERED = ("relax.builtin.alloc_tensor", "relax.memory.alloc_", "relax.memory.kill_", "relax.vm.")


def relax_functions(module: Any) -> Iterator[tuple[str, Any]]:
    """Relax functions of the module with their names."""
    for var, function in module.functions_items():
        if isinstance(function, relax.Function):
            yield var.name_hint, function


def has_attribute(function: Any, key: str) -> bool:
    """Whether the function carries the attribute."""
    return function.attrs is not None and key in function.attrs


def has_transform_params(module: Any) -> bool:
    """Whether some Relax function's name ends in ``transform_params``."""
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
    return None


def needs_num_input(module: Any) -> str | None:
    """LiftTransformParams and BundleModelParams work on functions with the attribute ``num_input``."""
    if any(has_attribute(function, "num_input") for _, function in relax_functions(module)):
        return None
    return "no function with num_input"


def valid_num_input(module: Any) -> str | None:
    """``num_input`` counts leading parameters; more than there are is meaningless (the passes ICHECK it)."""
    for _, function in relax_functions(module):
        if has_attribute(function, "num_input") and int(function.attrs["num_input"]) > len(function.params):
            return "num_input exceeds the parameters"
    return None


def needs_vdevices(module: Any) -> str | None:
    """UpdateVDevice replaces an entry of ``global_infos["vdevice"]``, which must exist."""
    return None if "vdevice" in module.global_infos else "no vdevice in global_infos"


def _holds(module: Any, wanted: Callable[[Any], bool]) -> bool:
    """Whether an expression of a Relax function is what is asked for."""
    found = False

    def visit(expr: Any) -> None:
        nonlocal found
        found = found or wanted(expr)

    for _, function in relax_functions(module):
        relax.analysis.post_order_visit(function.body, visit)
    return found


def holds_empty_constant(module: Any) -> bool:
    """Whether a constant of a Relax function has no elements."""

    def empty(expr: Any) -> bool:
        value = expr.value if isinstance(expr, tvm.ir.GenericConst) else None
        return isinstance(value, tvm.runtime.Tensor) and 0 in value.shape

    return _holds(module, empty)


def no_cuda_graphs(module: Any) -> str | None:
    """RewriteCUDAGraph puts what a graph may hold into functions of their own; those are not for it to rewrite."""

    def launches(expr: Any) -> bool:
        return isinstance(expr, relax.ExternFunc) and str(expr.global_symbol).startswith("vm.builtin.cuda_graph.")

    return "has CUDA graphs already" if _holds(module, launches) else None


def no_lowered_allocations(module: Any) -> str | None:
    """RewriteCUDAGraph knows storages by the operators that LowerRuntimeBuiltin lowers; TVM's pipelines run it before.

    A lowered allocation it takes for a call like any other, and captures it (transform/rewrite_cuda_graph.cc).
    """
    lowered = ("relax.vm.alloc_storage", "relax.vm.alloc_tensor")
    return "allocations are lowered" if _holds(module, lambda expr: _operator(expr) in lowered) else None


def no_calls_in_place(module: Any) -> str | None:
    """What moves bindings as far as dataflow allows, or lets one stand for an equal one, reads an operand later.

    Such calls are for passes "that have checked whether it is safe" (docstring of ``call_tir_inplace``): that nothing
    reads the operand later, in the order of that moment. Dataflow does not show that a call overwrites an operand.
    """
    found = _holds(module, lambda expr: _operator(expr) == "relax.call_tir_inplace")
    return "calls a kernel in place" if found else None


def nothing_killed(module: Any) -> str | None:
    """A pass that lets one variable stand for another has later uses of it, which may be behind where it is killed.

    KillAfterLastUse is documented to drop "all tensor/storage objects after last use": of the uses of that moment.
    """
    return "variables are killed" if _holds(module, lambda expr: _operator(expr) in KILLING) else None


def no_library_prefix(module: Any) -> str | None:
    """AttachGlobalSymbol puts the attribute ``system_lib_prefix`` in front of every name, and so renames functions."""
    return "has a system_lib_prefix" if has_attribute(module, "system_lib_prefix") else None


def no_altered_kernels(module: Any) -> str | None:
    """AlterOpImpl is told the layouts of kernels by name, and keeps the names: its own output has other layouts.

    Its documentation: the replacement may have "different layouts on i/o buffers"; layout transformations are inserted
    at the call sites of what is replaced. Where LegalizeOps has lowered them since, the replacement is known by the
    name that transform/alter_op_impl.cc gives it, ``<operator_name>_replacement``.
    """

    def altered(expr: Any) -> bool:
        for block in expr.blocks if isinstance(expr, relax.SeqExpr) else ():
            values = {binding.var: binding.value for binding in block.bindings}
            for value in values.values():
                if _operator(value) == "relax.call_tir" and has_attribute(module[value.args[0]], "operator_name"):
                    made = [values.get(item) for item in value.args[1].fields if isinstance(item, relax.Var)]
                    laid_out = any(_operator(item) == "relax.layout_transform" for item in made)
                    if laid_out or "_replacement" in value.args[0].name_hint:
                        return True
        return False

    return "kernels are altered already" if _holds(module, altered) else None


def private_composites(module: Any) -> str | None:
    """MergeCompositeFunctions makes local functions of composite ones, and keeps their attributes.

    Those of FuseOpsByPattern, whose output it is for, are private. One with a symbol (AttachGlobalSymbol gives it one
    "for codegen", the last step) becomes a local function with the symbol of a global one.
    """
    for _, function in relax_functions(module):
        if has_attribute(function, "Composite") and has_attribute(function, "global_symbol"):
            return "a composite function is public"
    return None


def _operator(value: Any) -> str:
    return str(value.op.name) if isinstance(value, relax.Call) and isinstance(value.op, Op) else ""


def no_local_functions(module: Any) -> str | None:
    """VMShapeLower does not work for local functions: LambdaLift must run first, and closures must be gone."""
    return "has local functions" if local_functions(module) else None


def is_lowered(module: Any) -> bool:
    """Whether a function of the module allocates memory itself: the module is lowered already, in part or as a whole.

    Only functions that are impure, or declared ``relax.force_pure``, can do so and be well formed.
    """
    found: list[Any] = []

    def visit(expr: Any) -> None:
        if isinstance(expr, Op) and str(expr.name).startswith(_LOWERED):
            found.append(expr)

    for _, function in relax_functions(module):
        if not function.is_pure or has_attribute(function, "relax.force_pure"):
            relax.analysis.post_order_visit(function.body, visit)
        if found:
            return True
    return False


def local_functions(module: Any) -> bool:
    """Whether a Relax function is nested in another."""
    found: list[Any] = []

    def visit(expr: Any) -> None:
        if isinstance(expr, relax.Function):
            found.append(expr)

    for _, function in relax_functions(module):
        relax.analysis.post_order_visit(function.body, visit)
        if found:
            return True
    return False


def joinable_blocks(module: Any) -> int:
    """1 when two blocks of one kind stand side by side in a function, else 0.

    Such a module is well formed and not normalised: the first pass that normalises joins the blocks, when its own work,
    block by block, is done; only the next run sees the whole.
    """
    for _, function in relax_functions(module):
        kinds = [isinstance(block, relax.DataflowBlock) for block in getattr(function.body, "blocks", ())]
        if any(left is right for left, right in itertools.pairwise(kinds)):
            return 1
    return 0


def private_call_depth(module: Any) -> int:
    """Longest chain of calls through private Relax functions; 0 when there are none (recursion counts once)."""
    private = {
        var: relax.analysis.all_global_vars(function)
        for var, function in module.functions_items()
        if isinstance(function, relax.Function) and not has_attribute(function, "global_symbol")
    }
    depths: dict[Any, int] = {}

    def depth(var: Any) -> int:
        if var not in private:
            return 0
        if var not in depths:
            depths[var] = 1  # what a recursive call sees
            depths[var] = 1 + max((depth(callee) for callee in private[var]), default=0)
        return depths[var]

    return max((depth(var) for var in private), default=0)


def alias_depth(module: Any) -> int:
    """Longest chain of variables that are each bound to the one before."""
    behind: dict[Any, Any] = {}

    def visit(expr: Any) -> None:
        for block in expr.blocks if isinstance(expr, relax.SeqExpr) else ():
            for binding in block.bindings:
                if isinstance(binding, relax.VarBinding) and isinstance(binding.value, relax.Var):
                    behind[binding.var] = binding.value

    for _, function in relax_functions(module):
        relax.analysis.post_order_visit(function.body, visit)
    longest = 0
    for var in behind:
        length = 0
        while var in behind:
            var, length = behind[var], length + 1
        longest = max(longest, length)
    return longest
