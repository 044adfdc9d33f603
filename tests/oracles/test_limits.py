"""Limits of contracts: where a judgement would be unfair to a pass."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import sample_modules as samples
import tvm
from test_verdicts_of_inputs import hinted
from tvm import relax
from verdict_rows import made, ref, step, tensor

from oracles.core.module_facts import ModuleFacts
from oracles.core.subject import Subject
from oracles.core.verdict import Evidence
from relaxkit.passes.contract import NumericCheck
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.limits import Situation, reason_against
from relaxkit.passes.pass_ref import PassRef

CAST = Evidence("run-error", "ErrorContext(match_cast, ty=...) expect Tensor with dtype float32 but get float16")
UNEMITTED = Evidence("InternalError", "CodeGenVM cannot emit this operator.\nOffending call:\nR.nn.conv2d(lv, lv1)")


def test_what_the_caller_chose_is_no_fault_of_the_pass():
    retyped = step(ref("UpdateParamType", 'lambda var: relax.TensorType([2], "float16")'))
    assert retyped.contract.abi is contract_for(ref("UpdateParamType", "lambda var: None")).abi
    assert (
        reason_against(NumericCheck.RUN, Situation([retyped], lambda _: samples.dataflow(), CAST, samples.dataflow()))
        == "a match_cast asks for the old type"
    )
    assert (
        reason_against(
            NumericCheck.RUN, Situation([step(ref("FuseTIR"))], lambda _: samples.dataflow(), CAST, samples.dataflow())
        )
        == ""
    )
    result = dataclasses.replace(CAST, message="ErrorContext(fn=run, loc=return, annotation=...) expect float32")
    assert (
        reason_against(NumericCheck.RUN, Situation([retyped], lambda _: samples.dataflow(), result, samples.dataflow()))
        == "a declared result has the old type"
    )
    assert (
        reason_against(
            NumericCheck.RUN,
            Situation([step(ref("FuseTIR"))], lambda _: samples.dataflow(), result, samples.dataflow()),
        )
        == ""
    )
    assert (
        reason_against(NumericCheck.BUILD, Situation([step(ref("ConvertLayout", "{}"))], failure=UNEMITTED))
        == "no kernel for this layout"
    )
    assert reason_against(NumericCheck.BUILD, Situation([step(ref("FuseTIR"))], failure=UNEMITTED)) == ""


@pytest.mark.parametrize("packed", [True, False])
def test_a_packed_call_says_which_type_it_gives(packed):
    builder = relax.BlockBuilder()
    x = relax.Var("x", tensor([2]))
    with builder.function("main", [x]):
        if packed:
            made = relax.op.call_pure_packed("vm.builtin.reshape", x, relax.ShapeExpr([2]), ty_args=tensor([2]))
        else:
            made = relax.op.reshape(x, [2])
        builder.emit_func_output(builder.emit(made))
    retype = ref("UpdateParamType", 'lambda var: relax.TensorType(var.ty.shape, "float64")')
    for reference in (retype, ref("StaticPlanBlockMemory")):  # which assumes that it does not return an argument
        assert (
            bool(reason_against(NumericCheck.RESULTS, Situation([step(reference)], lambda _: builder.get()))) is packed
        )


@pytest.mark.parametrize("told", [True, False])
def test_what_a_packed_call_gives_back_is_known_only_where_the_given_module_says_it(told):
    """StaticPlanBlockMemory was blamed for a direct call of a function that gives its argument back."""

    def calling(call):
        return made((2,), build=lambda builder, x: builder.emit(call(x)), dataflow=False)

    lowered = calling(lambda x: relax.Call(relax.ExternFunc("vm.builtin.copy"), [x], None, [x.ty]))
    drawn = calling(lambda x: relax.op.call_inplace_packed("vm.builtin.copy", x, inplace_indices=[0], ty_args=[x.ty]))
    situation = Situation([step(ref("StaticPlanBlockMemory"))], lambda _: lowered, given=drawn if told else lowered)
    assert bool(reason_against(NumericCheck.RESULTS, situation)) is not told


def test_callers_of_a_transform_are_the_users_to_change():
    """LazyTransformParams was blamed for a call of the function whose parameters it takes away."""
    lazy = [step(ref("LazyTransformParams"))]
    module = made((2,), build=lambda _, x: x, name="main_transform_params")
    callee = module.get_global_vars()[0]
    caller = made((2,), build=lambda builder, x: builder.emit(relax.Call(callee, [x])))
    both = tvm.IRModule({**module.functions, **caller.functions})
    assert reason_against(NumericCheck.RESULTS, Situation(lazy, lambda _: both))
    assert not reason_against(NumericCheck.RESULTS, Situation(lazy, lambda _: module))


def test_packed_calls_that_write_into_an_output_say_its_type():
    x = relax.Var("x", tensor((2,)))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.call_dps_packed("anything", [x], x.ty)))
    module = bb.get()
    (update,) = [ref("UpdateParamType", "lambda var: None")]
    assert "packed call" in reason_against(NumericCheck.RESULTS, Situation([step(update)], lambda index: module))
    assert not reason_against(
        NumericCheck.RESULTS, Situation([step(ref("StaticPlanBlockMemory"))], lambda index: module)
    )


MISMATCH = Evidence("run-error", "ValueError: Mismatched compute.device_id on argument #1 when calling: ...")


LEGALIZE, REALIZE = ref("LegalizeOps"), ref("RealizeVDevice")


def test_other_mismatches_of_devices_are_reported() -> None:
    def excuse(module: Any, *passes: PassRef) -> str:
        steps = Subject(module, passes, facts=ModuleFacts(module)).plan.steps
        return reason_against(NumericCheck.RUN, Situation(steps, lambda _: module, MISMATCH, module))

    plain = hinted()
    plain.update_func(plain.get_global_var("main"), relax.transform.RealizeVDevice()(plain)["main"])
    assert excuse(hinted(), LEGALIZE)
    assert excuse(hinted(), LEGALIZE, REALIZE)  # which comes too late then
    assert not excuse(plain, LEGALIZE)
    assert not excuse(hinted(), REALIZE, LEGALIZE)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            '{"relax.add": lambda builder, call: call, "relax.exp": lambda builder, call: builder.call_te(f, call)}',
            True,
        ),
        ('{"relax.exp": lambda b, c: b.call_te(f, c), "relax.add": lambda b, c: c}', True),
        ('skip_ops=["relax.exp", "relax.add"]', True),
        ('{"relax.add": lambda builder, call: builder.call_te(tvm.topi.add, call.args[0])}', False),
        ('{"relax.add": lambda builder, call: call.args[0]}', False),
        ('{"relax.exp": lambda builder, call: call}, skip_ops=["relax.nn.relu"]', False),
        ("", False),
    ],
)
def test_a_legalization_that_lowers_is_no_excuse_for_what_is_left(arguments: str, told: bool) -> None:
    message = "CodeGenVM cannot emit this Relax operator directly.\nOffending call:\nR.add(lv, lv1)"
    legalize = ref("LegalizeOps", arguments)
    situation = Situation([step(legalize)], failure=Evidence("InternalError", message, ()))
    reason = reason_against(NumericCheck.BUILD, situation)
    assert reason == ("the caller's own legalization leaves the operator" if told else "")
