"""Where a numeric comparison would be unfair to a pass, although its contract allows one in general."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import tvm
from tvm import relax

from oracles.contract import Abi
from oracles.given import arguments_of, binding_of
from oracles.plan import Step
from oracles.verdict import Evidence
from releases.messages import newest

_BATCH_NORM = "relax.nn.batch_norm"
_HINT = "relax.hint_on_device"
_MOVE = "relax.to_vdevice"
_PLACING = "RealizeVDevice"


def unfair(steps: Sequence[Step], inputs: Callable[[int], Any]) -> str:
    """Why the results of these passes may differ on this module by what they document; empty when they may not.

    Args:
        steps: The passes.
        inputs: Gives the module that a step was applied to.
    """
    for index, step in enumerate(steps):
        training = _TRAINING.get(step.ref.name)
        if training is not None and _has_batch_norm(inputs(index), not training):
            return "batch_norm is of the other mode"
        if _bound_by_match_cast(step, inputs(index)):
            return "bound dim is one that a match_cast defines"
        if _bound_callee(step, inputs(index)):
            return "bound function is called inside the module"
        if _retyped_callee(step, inputs(index)):
            return "retyped function is called inside the module"
        if step.ref.name == "UpdateParamType" and _calls_packed(inputs(index), operators=_PACKED | {_DPS_PACKED}):
            return "a packed call says which type it gives"
        if step.ref.name == "UpdateParamType" and _takes_callback(inputs(index)):
            return "a callback is handed values of the types that the caller chose"
        if step.ref.name in _PLANNING and _calls_packed(inputs(index), _SAYS_SO, giving=True):
            return "a packed call may return its argument"
        if step.ref.name == "UpdateVDevice" and _replaces_hinted(step, inputs(index)):
            return "hint may name a replaced device"
    return ""


# DecomposeOpsForTraining takes every batch_norm for one of training, the other two take it for one of inference: the
# attribute `training` says which it is, and the passes are documented for their own mode only.
_TRAINING = {"DecomposeOpsForTraining": True, "DecomposeOpsForInference": False, "FoldBatchnormToConv2D": False}


def _bound_callee(step: Step, module: Any) -> bool:
    """Whether a pass binds parameters or dims of a function that the module itself calls.

    The request names the function, and who asks for it must change the callers: BindParams takes the parameter away,
    BindSymbolicVars makes other shapes an error.
    """
    if step.ref.name not in ("BindParams", "BindSymbolicVars"):
        return False
    arguments = arguments_of(step.ref.expression)
    binds = step.ref.name == "BindParams"
    named = binding_of(step.ref.expression)[0] if binds else arguments.get("1", arguments.get("func_name"))
    called = _called(module)
    if named is not None:
        return str(named) in called
    return any(set(arguments.get("0", {})) & {str(var.name) for var in _symbols(module[name])} for name in called)


def _bound_by_match_cast(step: Step, module: Any) -> bool:
    """Whether BindSymbolicVars binds a dim that no parameter defines: which inputs have it, only a run would say."""
    if step.ref.name != "BindSymbolicVars":
        return False
    arguments = arguments_of(step.ref.expression)
    named = arguments.get("1", arguments.get("func_name"))
    functions = module.functions.values() if named is None else [module[str(named)]] if named in module else []
    bound = set(arguments.get("0", {}))
    relaxed = [function for function in functions if isinstance(function, relax.Function)]
    return any(
        bound & ({str(var.name) for var in _symbols(function)} - _parameter_dims(function)) for function in relaxed
    )


def _parameter_dims(function: Any) -> set[str]:
    """Names of the symbolic dims that the parameters of a function mention."""
    return {str(var.name) for param in function.params for var in relax.analysis.definable_tir_vars_in_type(param.ty)}


def retypes_inputs(steps: Sequence[Step]) -> bool:
    """Whether named inputs become float16; "the function signature would change accordingly", says the pass."""
    return any(
        step.ref.name == "ToMixedPrecision" and bool(arguments_of(step.ref.expression).get("fp16_input_names"))
        for step in steps
    )


def _retyped_callee(step: Step, module: Any) -> bool:
    """Whether named inputs that ToMixedPrecision makes float16 are parameters of a function that the module calls."""
    if step.ref.name != "ToMixedPrecision":
        return False
    names = set(arguments_of(step.ref.expression).get("fp16_input_names") or ())
    called = _called(module) if names else set()
    functions = [module[name] for name in called if name in module]
    return any(
        str(param.name) in names
        for function in functions
        if isinstance(function, relax.Function)
        for param in function.params
    )


_PACKED = frozenset({"relax.call_pure_packed", "relax.call_inplace_packed"})
_DPS_PACKED = "relax.call_dps_packed"  # writes into a new tensor, and returns no argument
# StaticPlanBlockMemory "assumes external function calls via `call_packed` do not retain memory from the arguments" (its
# documentation); what returns an argument has kept it.  These pipelines run it, and RewriteCUDAGraph keeps for later
# runs the storages that it, or the author of the module, has planned.  What call_inplace_packed says of its argument is
# lost on the way to the pass, which is a defect; of the functions that it calls one is drawn.
_SAYS_SO = "vm.builtin.copy"
_PLANNING = frozenset({"StaticPlanBlockMemory", "RewriteCUDAGraph", "build:default", "build:cpu"})


def _calls_packed(module: Any, other_than: str = "", operators: frozenset[str] = _PACKED, giving: bool = False) -> bool:
    """Whether a packed function is called that says itself what it returns, and has another name.

    Its ``ty_args`` say which type that is, whatever it then gives of retyped inputs; and it may be an argument.

    Args:
        module: The module.
        other_than: The name.
        operators: The operators that call packed functions.
        giving: Only calls that give something: what prints returns no argument.
    """
    found = False

    def visit(expr: Any) -> None:
        nonlocal found
        if isinstance(expr, relax.Call):
            callee = expr.args[0] if getattr(expr.op, "name", "") in operators else expr.op
            named = isinstance(callee, relax.ExternFunc) and str(callee.global_symbol) != other_than
            empty = isinstance(expr.ty, relax.TupleType) and not expr.ty.fields
            found = found or (named and not (giving and empty))

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, visit)
    return found


def _takes_callback(module: Any) -> bool:
    """Whether a function takes another one, as LazySetOutput makes those that give their results away."""
    return any(
        isinstance(param.ty, relax.FuncType)
        for function in module.functions.values()
        if isinstance(function, relax.Function)
        for param in function.params
    )


def _symbols(function: Any) -> list[Any]:
    return list(relax.analysis.defined_symbolic_vars(function)) if isinstance(function, relax.Function) else []


def _called(module: Any) -> set[str]:
    """Names of the functions that functions of the module call or pass on."""
    names: set[str] = set()

    def visit(expr: Any) -> None:
        if isinstance(expr, relax.GlobalVar):
            names.add(str(expr.name_hint))

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function.body, visit)
    return names


def _replaces_hinted(step: Step, module: Any) -> bool:
    """Whether a device gets another number and the module has hints, which name devices by type and number.

    They are the user's to change when a device is replaced.
    """
    arguments = arguments_of(step.ref.expression)
    new, index = arguments.get("0"), int(arguments.get("1", 0))
    table = list(module.global_infos.get("vdevice", []))
    if new is None or (index < len(table) and int(table[index].vdevice_id) == int(new.vdevice_id)):
        return False
    return _calls_operator(module, _HINT, lambda call: True)


def _has_batch_norm(module: Any, training: bool) -> bool:
    return _calls_operator(module, _BATCH_NORM, lambda call: bool(call.attrs.training) == training)


def _calls_operator(module: Any, operator: str, fits: Callable[[Any], bool]) -> bool:
    found = False

    def visit(expr: Any) -> None:
        nonlocal found
        if isinstance(expr, relax.Call) and getattr(expr.op, "name", "") == operator:
            found = found or fits(expr)

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, visit)
    return found


# Layouts with a split axis (NCHW4c) have no kernel in TOPI for this target; ConvertLayout documents that it does not
# look whether there is one.
_SPLIT_LAYOUT = re.compile(r'layout="[A-Z]+\d+[a-z]')
# tvm/relax/transform/legalize_ops/nn.py leaves convolutions of other output than input layouts, and transposed ones of
# other layouts than PyTorch's, as they are, with a line in the log ("so cannot be legalized by TOPI").
_NO_KERNEL = re.compile(
    r"CodeGenVM cannot emit[^:]*call:\s*R\.nn\.conv\dd|nn\.conv\dd(_transpose)?: CodeGenVM cannot emit"
)

_LEFT = re.compile(r"CodeGenVM cannot emit[^:]*call:\s*R\.([\w.]+)")
# relax.op.call_tir_with_grad: the gradient function "will be called by the Gradient pass", the only pass that lowers
# the operator.  A program builds where nobody needs its result, until a pass makes a user of it stay.
_FOR_GRADIENT = re.compile(
    r"call_tir_with_grad: CodeGenVM cannot emit|CodeGenVM cannot emit[^:]*call:\s*R\.call_tir_with_grad"
)


def _gradient_kernel(error: Evidence) -> str:
    """Why there is no kernel for an operator that only gradients are made of, as relax/transform/legalize_ops/grad.py
    says itself.
    """
    if re.search(r"R\.grad\.(avg|max)_pool2d_backward", newest(error.message)):
        return "dilated pooling has no gradient kernel"  # "Dilation is not supported in TOPI pool_grad"
    if any("te_take_backward" in frame for frame in error.frames) and error.kind == "AssertionError":
        return "take by other than a vector has no gradient kernel"  # "indices in take must be 1-dim Tensor"
    return ""


def captures_weights(steps: Sequence[Step], num_input: int | None, parameters: int) -> bool:
    """Whether a program may count on getting the same weights in every call.

    A captured graph reads weights, the parameters beyond ``num_input``, where they were then: RewriteCUDAGraph
    takes them for static (src/relax/transform/rewrite_cuda_graph.cc), and other ones are another program's.
    """
    captured = any(step.ref.name == "RewriteCUDAGraph" for step in steps)
    return captured and num_input is not None and num_input < parameters


def _told_to_leave(operator: str, expression: str) -> bool:
    """Whether LegalizeOps is given a function for an operator that gives the call back, or is told to skip it.

    A function that lowers is no excuse for a call that is left.
    """
    name = re.escape(f'"relax.{operator}"')
    skipped = rf"skip_ops=\[[^]]*{name}"
    return re.search(rf"{skipped}|{name}: lambda (\w+), (\w+): \2(?=\s*[,}}])", expression) is not None


def excused(error: Evidence, steps: Sequence[Step]) -> str:
    """Why an output that does not build is no fault of the passes; empty when it is.

    Args:
        error: What the build raised.
        steps: The passes.
    """
    from oracles.contracts import CONTRACTS

    names = {step.ref.name for step in steps}
    unknown = _SPLIT_LAYOUT.search(error.message) or _NO_KERNEL.search(newest(error.message))
    if "ConvertLayout" in names and unknown:
        return "no kernel for this layout"
    if _FOR_GRADIENT.search(newest(error.message)):
        return "call_tir_with_grad is for Gradient to lower"
    left = _LEFT.search(newest(error.message))
    if left and any(step.ref.name == "LegalizeOps" and _told_to_leave(left[1], step.ref.expression) for step in steps):
        return "the caller's own legalization leaves the operator"
    if any(step.contract.abi is Abi.RETYPE_PARAMS for step in steps):
        return "no kernel for the types that the caller chose"
    if "Gradient" in names and (reason := _gradient_kernel(error)):
        return reason
    # UpdateVDevice replaces a device by index; hints that name the old one are the user's to change, too.
    refusals = CONTRACTS["RealizeVDevice"].refusals
    if "UpdateVDevice" in names and any(refusal.matches(error.kind, error.message) for refusal in refusals):
        return "hint names a replaced device"
    return ""


# The runtime's check of a kernel's arguments: the result was put on another device than the operand.
_OTHER_DEVICE = re.compile(r"Mismatched \S+\.device_id on argument")


def excused_run(found: Evidence, steps: Sequence[Step], module: Any, output: Any) -> str:
    """Why an output that raises at run time is no fault of the passes; empty when it is.

    Args:
        found: What was raised, or what is wrong with the results.
        steps: The passes.
        module: What they were given.
        output: What they gave.
    """
    if found.kind != "run-error":
        return ""
    retyped = any(step.contract.abi is Abi.RETYPE_PARAMS for step in steps)
    if retyped and "ErrorContext(match_cast" in found.message:
        return "a match_cast asks for the old type"
    if retyped and re.search(r"ErrorContext\([^)]*loc=return", found.message):
        return "a declared result has the old type"  # as of an If one branch of which is a parameter
    # ``hint_on_device`` has the type of its argument until RealizeVDevice moves it (src/relax/op/op.cc), and the build
    # runs that first. LegalizeOps and its like, run before it, write the old device into what they make of the users,
    # and RealizeVDevice changes nothing of that when it runs behind them.
    ran = [step.ref.name for step in steps]
    if not _OTHER_DEVICE.search(found.message):
        return ""
    if ran[:1] != [_PLACING] and _calls_operator(module, _HINT, lambda call: True):
        return "a device that a hint has yet to change"
    if _PLACING in ran:
        return ""
    return "RealizeVDevice carries a device over a call" if carried_over_a_call(found, output) else ""


def carried_over_a_call(found: Evidence, output: Any) -> bool:
    """Whether what was raised may be RealizeVDevice's fault, since a function that is called moves a tensor.

    It takes what a function gives to be on the device of its arguments, also where the function moves it
    (src/relax/transform/realize_vdevice.cc): that is a defect of its own, of programs that no pass has made as well.
    """
    raised = found.kind == "run-error" and _OTHER_DEVICE.search(found.message) is not None
    return raised and _moved_by_a_callee(output)


def _moved_by_a_callee(module: Any) -> bool:
    """Whether a function that another one calls moves a tensor to a device."""
    called = _called(module)
    functions = {gv: function for gv, function in module.functions_items() if gv.name_hint in called}
    return _calls_operator(tvm.IRModule(functions), _MOVE, lambda call: True)
