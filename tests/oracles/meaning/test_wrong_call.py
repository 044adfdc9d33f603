"""The call that is to blame for a program that computes something else than documented is found and named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from fuzzer.findings.family import symptom_of_verdict
from fuzzer.findings.signature import signature
from oracles import Subject, judge
from oracles.core.verdict import NOT_AS_DOCUMENTED, Outcome, Verdict
from oracles.measure.comparison import Mismatch, is_near
from oracles.measure.original import Original, unreported
from oracles.semantics import WrongCall, replay, wrong_call
from oracles.semantics.expected import Expectation
from oracles.semantics.replay import VALUE, fault_of
from oracles.semantics.single import SingleCall
from relaxkit.ir.domain import Given
from relaxkit.passes.contract import EvidenceClass, OracleName
from relaxkit.passes.pass_ref import PassRef

LEGALIZE = PassRef("LegalizeOps", "relax.transform.LegalizeOps()")


def found(module: Any, seed: int = 0) -> WrongCall | None:
    original = Original(module, str(tvm.ir.save_json(module)), seed, Given())
    return wrong_call(original, unreported)


def verdict(module: Any, ref: PassRef = LEGALIZE) -> Verdict:
    return judge(Subject(module, [ref]), [OracleName.NUMERIC])[0]


@I.ir_module
class Between:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        lv = R.exp(x)
        lv1 = R.log_add_exp(lv, R.const([100.0, 0.0, 200.0, 1.0], "float32"))
        lv2 = R.tanh(lv1)
        return R.add(lv2, lv1)


@I.ir_module
class Right:
    @R.function
    def main(x: R.Tensor((4, 5), "float32")) -> R.Tensor((4, 5), "float32"):
        lv = R.nn.softmax(x)
        lv1 = R.matmul(lv, R.permute_dims(lv))
        lv2 = R.matmul(lv1, R.sin(x))
        return R.floor(R.multiply(lv2, R.const(1e3, "float32")))


@I.ir_module
class Empty:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("m",), "float32"):
        m = T.int64()
        lv = R.exp(x)
        lv1: R.Tensor((m,), "float32") = R.sum(lv, axis=[0])
        return lv1


def test_names_the_operator_in_the_midst_of_a_program() -> None:
    seen = found(Between)
    assert seen is not None
    assert (seen.guilty, seen.what, seen.culprit) == ("relax.log_add_exp", "wrong value", "LegalizeOps")
    assert seen.evidence.message == "relax.log_add_exp: wrong value"
    assert "log of the sum of exponentials" in seen.evidence.expected


def normalized(**flags: bool) -> Any:
    """Return a module that normalizes values far from zero, with constants of both kinds that are not neutral."""
    x, scale = relax.Var("x", relax.TensorType((1, 1, 4), "float32")), relax.const(np.full(1, 3.0, "float32"))
    shifted = relax.op.add(x, relax.const(200.0, "float32")) if not flags else x
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        far = builder.emit(shifted)
        builder.emit_func_output(builder.emit(relax.op.nn.instance_norm(far, scale, scale, 1, [2], **flags)))
    return builder.get()


@pytest.mark.parametrize("flag", ["center", "scale"])
def test_what_is_wrong_by_a_flag_alone_is_another_finding(flag: str) -> None:
    plain, seen = found(normalized()), found(normalized(**{flag: False}))
    assert plain is not None
    assert seen is not None
    assert (plain.flags, seen.flags) == ((), (flag,))
    verdicts = verdict(normalized()), verdict(normalized(**{flag: False}))
    assert verdicts[0].shown.message == verdicts[1].shown.message
    assert signature(verdicts[0]).id == signature(verdicts[1]).former != signature(verdicts[1]).id
    assert len({symptom_of_verdict(each) for each in verdicts}) == 2


def test_a_loss_of_a_few_digits_is_shown_where_it_is_plain() -> None:
    x, scale = (
        relax.Var("x", relax.TensorType((2, 1), "float32")),
        relax.Var("scale", relax.TensorType((1,), "float32")),
    )
    builder = relax.BlockBuilder()
    with builder.function("main", [x, scale]):
        builder.emit_func_output(builder.emit(relax.op.nn.group_norm(x, scale, scale, 1, -1, [-2])))
    near_zero = np.array([[1.160372], [1.4927801]], "float32")
    seen = fault_of(SingleCall("relax.nn.group_norm", builder.get(), (near_zero, np.ones(1, "float32"))))
    assert seen is not None
    np.testing.assert_array_equal(seen.call.arguments[0], near_zero + 1000)
    assert not is_near(seen.mismatch.expected, seen.mismatch.seen)  # with x as it was they are, within 2 %


@I.ir_module
class Sampled:
    @R.function
    def main(x: R.Tensor((1, 1, 1, 5), "float32"), at: R.Tensor((1, 2, 1, 1), "float32")) -> R.Tensor(
        (1, 1, 1, 1), "float32"
    ):
        return R.image.grid_sample(x, at, method="bicubic", layout="NCHW", padding_mode="zeros", align_corners=True)


def test_digits_that_the_greatest_operand_does_not_have_are_a_question() -> None:
    """The weight of -65504 is a small difference of numbers near 1: TVM rounds as an ordinary formula does."""
    x = np.array([-6e-8, -65504.0, 2.0, -2.0, -1.28125], "float32").reshape(1, 1, 1, 5)
    near_the_middle = np.full((1, 2, 1, 1), -6e-8, "float32")
    seen = fault_of(SingleCall("relax.image.grid_sample", Sampled, (x, near_the_middle)))
    assert seen is not None
    assert not seen.mismatch.slight
    assert seen.evidence.details.rests_on is EvidenceClass.OURS
    fewer = replace(seen, call=replace(seen.call, arguments=(np.minimum(np.abs(x), 1000), near_the_middle)))
    assert fewer.evidence.details.rests_on is None, "1000 has the digit that differs"


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_greater_operands_are_floats_and_lose_more(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, builder = relax.Var("x", relax.TensorType((1,), dtype)), relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.astype(x, "float64")))
    call = SingleCall("relax.astype", builder.get(), (np.ones(1, dtype),))
    near = Mismatch("wrong-value", (), "1.0 at index [0]", "1.01; 1 of 1 elements differ", seen="1.01")
    monkeypatch.setattr(
        replay, "_judged", lambda each, _: WrongCall(each, "relax.astype", VALUE, "", Expectation(np.ones(1)), near)
    )
    shown = fault_of(call)
    assert shown is not None
    assert shown.call is call


def test_a_program_that_rounds_and_decides_is_not_accused() -> None:
    assert found(Right) is None


def test_a_sum_of_nothing_reads_what_was_in_memory() -> None:
    seen = [each for each in (found(Empty, seed) for seed in range(40)) if each is not None]
    assert seen, "no seed draws an empty dim"
    assert {(each.guilty, each.what) for each in seen} == {("relax.sum", "reads uninitialized memory")}


def test_the_operands_are_those_of_the_program() -> None:
    seen = found(Between)
    assert seen is not None
    assert np.all(seen.call.arguments[0] > 0)  # results of exp


def test_is_a_failure_of_the_numeric_oracle_under_legalization_alone() -> None:
    said = verdict(Between)
    assert said.outcome is Outcome.FAIL
    assert said.evidence is not None
    assert said.evidence.kind == NOT_AS_DOCUMENTED
    other = verdict(Between, PassRef("CanonicalizeBindings", "relax.transform.CanonicalizeBindings()"))
    assert other.outcome is not Outcome.FAIL


@pytest.mark.parametrize("module", [Right, Between])
def test_repeats(module: Any) -> None:
    assert verdict(module) == verdict(module)


def test_what_has_no_result_to_judge_is_passed_over() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((3,), "float32"))
    with bb.function("main", [x]):
        # Of a number and NaN the greatest is not documented.
        bb.emit_func_output(bb.emit(relax.op.maximum(x, relax.const([np.nan] * 3, "float32"))))
    module = bb.get()
    module["main"] = module["main"].with_attr("global_symbol", "main")
    assert found(module) is None
