"""Limits of contracts: where a judgement would be unfair to a pass, although its promises allow it in general.

A limit stands in the row of its pass (``Contract.limits``), or below, where it is one of every pass or of a calling
convention.  The first limit of the first step that holds gives the reason under which the skip is counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import tvm
from tvm import relax

from relaxkit.compat.tables import newest
from relaxkit.ir.functions import called_names, has_attribute, relax_functions
from relaxkit.ir.walk import expressions, expressions_in, operator_has, operator_of
from relaxkit.passes.arguments import arguments_of, binding_of, leaves_operator
from relaxkit.passes.contract import Abi, NumericCheck, NumericLimit, Refusal, Trait
from relaxkit.passes.pass_ref import Step


class RaisedError(Protocol):
    """An error that a build or a run raised."""

    @property
    def kind(self) -> str:
        """Name of the exception's type."""

    @property
    def message(self) -> str:
        """Its message."""

    @property
    def frames(self) -> tuple[str, ...]:
        """Places of TVM on the way to it."""


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a limit may look at.

    Attributes:
        inputs: Gives the module that a step was applied to.
        failure: The error that was raised; ``None`` where results are compared.
        output: The module that the last step gave.
        index: The step whose limit is asked; 0 for one of all passes.
        found: Where the limit's ``error`` stands in the failure's message.
        given: The module that was given, before all passes, those included that prepare it.
    """

    steps: Sequence[Step]
    inputs: Callable[[int], tvm.IRModule] | None = None
    failure: RaisedError | None = None
    output: tvm.IRModule | None = None
    index: int = 0
    found: re.Match[str] | None = None
    given: tvm.IRModule | None = None

    @property
    def expression(self) -> str:
        """The text of the pass whose limit is asked."""
        return self.steps[self.index].ref.expression

    @property
    def module(self) -> tvm.IRModule:
        """The module that the pass was applied to."""
        assert self.inputs is not None
        return self.inputs(self.index)


def reason_against(stops: NumericCheck, situation: Situation) -> str:
    """Return why a judgement on some passes would be unfair; empty when it would not."""
    for limit, index in _limits(situation.steps):
        if limit.stops is stops and _holds(limit, replace(situation, index=index)):
            return limit.reason
    return ""


def _holds(limit: NumericLimit, situation: Situation) -> bool:
    if limit.error:
        assert situation.failure is not None
        situation = replace(situation, found=_found(limit.error, situation.failure))
        if situation.found is None:
            return False
    return limit.when is None or limit.when(situation)


def _found(pattern: str, failure: RaisedError) -> re.Match[str] | None:
    return re.search(pattern, newest(failure.message))


def _limits(steps: Sequence[Step]) -> Iterator[tuple[NumericLimit, int]]:
    yield from ((limit, 0) for limit in OF_EVERY_PASS)
    for index, step in enumerate(steps):
        of_convention = OF_RETYPED if step.contract.abi is Abi.RETYPE_PARAMS else ()
        yield from ((limit, index) for limit in (*step.contract.limits, *of_convention))


def of_other_mode(situation: Situation, training: bool) -> bool:
    """Say whether the module has a ``batch_norm`` of the other mode than ``training`` says."""
    return _calls(situation.module, "relax.nn.batch_norm", lambda call: bool(call.attrs.training) is not training)


def binds_a_callee(situation: Situation) -> bool:
    """Say whether a pass binds parameters or dims of a function that the module itself calls."""
    arguments = arguments_of(situation.expression)
    binds = situation.steps[situation.index].contract.abi is Abi.BIND_PARAMS
    named = binding_of(situation.expression)[0] if binds else arguments.get("1", arguments.get("func_name"))
    called = called_names(situation.module)
    if named is not None:
        return str(named) in called
    return any(set(arguments.get("0", {})) & _symbols(situation.module[name]) for name in called)


def binds_dims_of_a_cast(situation: Situation) -> bool:
    """Say whether a dim is bound that no parameter defines: which inputs have it, only a run would say."""
    arguments = arguments_of(situation.expression)
    named = arguments.get("1", arguments.get("func_name"))
    bound = set(arguments.get("0", {}))
    return any(
        bound & (_symbols(function) - _parameter_dims(function))
        for name, function in relax_functions(situation.module)
        if named is None or name == str(named)
    )


def retypes_a_callee(situation: Situation) -> bool:
    """Say whether inputs that become float16 are parameters of a function that the module calls."""
    names = set(arguments_of(situation.expression).get("fp16_input_names") or ())
    called = called_names(situation.module) if names else set()
    functions = relax_functions(situation.module)
    return any(str(param.name) in names for name, each in functions if name in called for param in each.params)


def erases_a_needed_dim(situation: Situation) -> bool:
    """Say whether a dim went with the type of a parameter, and the code needs it, not its types alone.

    The pass infers types afresh: what still has the dim in the body was not inferred.
    """
    assert situation.found is not None
    assert situation.output is not None
    name, after = situation.found[1], dict(relax_functions(situation.output))
    return any(
        key in after
        and name in _parameter_dims(function) - _parameter_dims(after[key])
        and any(isinstance(expr, relax.Var) and expr.name == name for expr in expressions(after[key].body))
        for key, function in relax_functions(situation.module)
    )


_PACKED = frozenset({"relax.call_pure_packed", "relax.call_inplace_packed"})
_DPS_PACKED = "relax.call_dps_packed"  # writes into a new tensor, and returns no argument


def says_types_of_packed(situation: Situation) -> bool:
    """Say whether a packed function is called: ``ty_args`` say what it gives, whatever that is of retyped inputs."""
    return any(name for name, _ in _packed_calls(situation.module, _PACKED | {_DPS_PACKED}))


def may_give_back_its_argument(situation: Situation) -> bool:
    """Say whether a packed function is called that gives something, and nothing says which argument that is.

    ``call_inplace_packed`` says it, but that is lost on the way to the pass, which is a defect; of the functions that
    it calls one is drawn, which in other calls is as any other.
    """
    told = situation.given is not None and _calls(situation.given, "relax.call_inplace_packed")
    return any(
        not (told and name == "vm.builtin.copy") and (not isinstance(call.ty, relax.TupleType) or call.ty.fields)
        for name, call in _packed_calls(situation.module, _PACKED)
    )


def _packed_calls(module: tvm.IRModule, operators: frozenset[str]) -> Iterator[tuple[str, relax.Call]]:
    """Yield the calls of packed functions, by one of some operators or directly, each with the function's name."""
    for call in expressions_in(module):
        if isinstance(call, relax.Call):
            callee = call.args[0] if operator_of(call) in operators else call.op
            if isinstance(callee, relax.ExternFunc):
                yield str(callee.global_symbol), call


def takes_a_callback(situation: Situation) -> bool:
    """Say whether a function takes another one, as LazySetOutput makes those that give their results away."""
    functions = relax_functions(situation.module)
    return any(isinstance(param.ty, relax.FuncType) for _, function in functions for param in function.params)


def calls_a_transform(situation: Situation) -> bool:
    """Say whether the module itself calls a function that LazyTransformParams works on."""
    return any(name.endswith("transform_params") for name in called_names(situation.module))


def replaces_a_hinted_device(situation: Situation) -> bool:
    """Say whether a device gets another number in a module with hints, which name devices by type and number."""
    arguments = arguments_of(situation.expression)
    new, index = arguments.get("0"), int(arguments.get("1", 0))
    table = list(situation.module.global_infos.get("vdevice", []))
    if new is None or (index < len(table) and int(table[index].vdevice_id) == int(new.vdevice_id)):
        return False
    return _calls(situation.module, _HINT)


def is_told_to_leave(situation: Situation) -> bool:
    """Say whether a legalization is told to leave the operator of which the failure speaks."""
    assert situation.found is not None
    return leaves_operator(situation.expression, situation.found[1])


def is_of_a_frame(situation: Situation, kind: str, frame: str) -> bool:
    """Say whether a failure is of some kind, and was raised in a place that names ``frame``."""
    failure = situation.failure
    return failure is not None and failure.kind == kind and any(frame in each for each in failure.frames)


def is_refusal(situation: Situation, refusals: tuple[Refusal, ...]) -> bool:
    """Say whether a failure is one of some documented errors."""
    failure = situation.failure
    return failure is not None and any(each.matches(failure.kind, failure.message) for each in refusals)


_HINT = "relax.hint_on_device"
_OTHER_DEVICE = r"Mismatched \S+\.device_id on argument"
"""The runtime's check of a kernel's arguments: the result was put on another device than the operand."""


def _hint_to_come(situation: Situation) -> bool:
    return Trait.PLACES not in situation.steps[0].contract.traits and _calls(situation.module, _HINT)


def _moved_unseen(situation: Situation) -> bool:
    if any(Trait.PLACES in step.contract.traits for step in situation.steps):
        return False
    assert situation.output is not None
    return _moved_by_a_callee(situation.output)


def carried_over_a_call(failure: RaisedError, output: tvm.IRModule) -> bool:
    """Say whether what was raised may be the fault of the pass that places, since a called function moves a tensor.

    It takes what a function gives to be on the device of its arguments, also where the function moves it
    (src/relax/transform/realize_vdevice.cc): that is a defect of its own, of programs that no pass has made as well.
    """
    raised = failure.kind == "run-error" and _found(_OTHER_DEVICE, failure) is not None
    return raised and _moved_by_a_callee(output)


def _moved_by_a_callee(module: tvm.IRModule) -> bool:
    """Say whether a function that another one calls moves a tensor to a device."""
    called = called_names(module)
    functions = {var: function for var, function in module.functions_items() if var.name_hint in called}
    return _calls(tvm.IRModule(functions), "relax.to_vdevice")


def _calls(module: tvm.IRModule, operator: str, fits: Callable[[relax.Call], bool] = lambda call: True) -> bool:
    return any(operator_of(expr) == operator and fits(expr) for expr in expressions_in(module))


def _symbols(function: relax.Function) -> set[str]:
    relaxed = isinstance(function, relax.Function)
    return {str(var.name) for var in relax.analysis.defined_symbolic_vars(function)} if relaxed else set()


def _parameter_dims(function: relax.Function) -> set[str]:
    """Return the names of the symbolic dims that the parameters of a function mention."""
    return {str(var.name) for param in function.params for var in relax.analysis.definable_tir_vars_in_type(param.ty)}


_MARKERS = {
    "call_tir_with_grad": 'relax.op.call_tir_with_grad: the gradient function "will be called by the Gradient pass"',
    "builtin.stop_lift_params": 'relax.op.builtin.stop_lift_params: "An indicator that the consumers of input tensor '
    'should not be lifted to transform_params function", which LiftTransformParams takes away',
    "wrap_param": "src/relax/transform/to_mixed_precision.cc, 'Key design: wrap_param op': that pass puts it around "
    "parameters, and makes a cast of it",
    "dist.annotate_sharding": "tvm/relax/distributed/transform/transform.py: PropagateSharding takes it away",
}
"""Operators that no legalization knows and no pipeline of TVM lowers, since one pass reads them and takes them away.

A program with one builds where nobody needs its result, until a pass makes a user of it stay.
"""


def _emitted(operator: str) -> str:
    """Return the pattern of the code generator's refusal of an operator."""
    return rf"\b{operator}: CodeGenVM cannot emit|CodeGenVM cannot emit[^:]*call:\s*R\.{operator}\("


def _for_a_code_generator(situation: Situation) -> bool:
    """Say whether the operator that is left has no legalization, and stands in functions with ``Codegen`` only."""
    assert situation.found is not None
    if situation.output is None:
        return False
    name = f"relax.{next(filter(None, situation.found.groups()))}"
    holders = [each for _, each in relax_functions(situation.output) if _calls(tvm.IRModule({"main": each}), name)]
    external = [has_attribute(each, "Codegen") for each in holders]
    return bool(holders) and all(external) and not operator_has(name, "FLegalize")


OF_EVERY_PASS = (
    *(
        NumericLimit(NumericCheck.BUILD, f"{name} is for another pass to take away", source, error=_emitted(name))
        for name, source in _MARKERS.items()
    ),
    NumericLimit(
        NumericCheck.BUILD,
        "an operator that an external code generator is given",
        "src/relax/transform/run_codegen.cc: relax.ext.<name> compiles what has the attribute Codegen; here it is "
        "lowered like any other function, which knows other operators",
        _for_a_code_generator,
        error=_emitted(r"([\w.]+)"),
    ),
    NumericLimit(
        NumericCheck.RUN,
        "a device that a hint has yet to change",
        "src/relax/op/op.cc: hint_on_device has the type of its argument until RealizeVDevice moves it, which the "
        "build runs first. LegalizeOps and its like, run before it, write the old device into what they make of the "
        "users, and RealizeVDevice changes nothing of that when it runs behind them",
        _hint_to_come,
        error=_OTHER_DEVICE,
    ),
    NumericLimit(
        NumericCheck.RUN,
        "RealizeVDevice carries a device over a call",
        "src/relax/transform/realize_vdevice.cc: a defect of its own, which is judged where RealizeVDevice is",
        _moved_unseen,
        error=_OTHER_DEVICE,
    ),
)
"""Limits of every pass, by what the build does besides."""

_CHOSEN = "the caller chose the types of parameters (documentation of UpdateParamType and ToMixedPrecision)"
OF_RETYPED = (
    NumericLimit(NumericCheck.BUILD, "no kernel for the types that the caller chose", _CHOSEN),
    NumericLimit(NumericCheck.RUN, "a match_cast asks for the old type", _CHOSEN, error=r"ErrorContext\(match_cast"),
    NumericLimit(
        NumericCheck.RUN,
        "a declared result has the old type",
        f"{_CHOSEN}; as of an If one branch of which is a parameter",
        error=r"ErrorContext\([^)]*loc=return",
    ),
)
"""Limits of passes that retype parameters."""
