from __future__ import annotations

from typing import Any

import buggy_passes as buggy
import pytest
import sample_modules as samples
from structural import Say
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from fuzzer.repro.checks.check import seen_line
from oracles.core.verdict import Outcome
from relaxkit.passes.contract import Contract, Idempotence, OracleName, Refusal
from relaxkit.passes.pass_ref import PassRef

IDEMPOTENCE = OracleName.IDEMPOTENCE


@pytest.mark.parametrize(
    ("promise", "runs", "outcome"),
    [
        (Idempotence.IDEMPOTENT, 1, Outcome.FAIL),
        (Idempotence.FIXPOINT, 2, Outcome.FAIL),
        (Idempotence.FIXPOINT, 3, Outcome.PASS),  # the mark reaches three and stays
        (Idempotence.NEVER, 1, Outcome.PASS),
        (Idempotence.UNKNOWN, 1, Outcome.PASS),
        (Idempotence.REFUSES, 1, Outcome.PASS),
    ],
)
def test_pass_that_settles_after_three_runs(say: Say, promise: Idempotence, runs: int, outcome: Outcome) -> None:
    contract = buggy.promising("appends_mark", promise, fixpoint_runs=runs)
    verdict = say(samples.dataflow(), buggy.appends_mark(contract))[IDEMPOTENCE]
    assert verdict.outcome is outcome
    assert (verdict.evidence is not None) == (outcome is Outcome.FAIL)


def test_extra_runs_come_from_the_module(say: Say) -> None:
    contract = buggy.promising(
        "appends_mark", Idempotence.FIXPOINT, fixpoint_extra=lambda module: len(module.functions) + 1
    )
    assert say(samples.dataflow(), buggy.appends_mark(contract))[IDEMPOTENCE].outcome is Outcome.PASS


def test_clean_twin_passes(say: Say) -> None:
    clean = buggy.marks(contract=buggy.promising("marks", Idempotence.IDEMPOTENT))
    assert say(samples.dataflow(), clean)[IDEMPOTENCE].outcome is Outcome.PASS


@pytest.mark.parametrize("promise", list(Idempotence))
def test_second_run_may_never_raise_what_is_not_documented(say: Say, promise: Idempotence) -> None:
    contract = buggy.promising("refuses_twice", promise)
    verdict = say(samples.dataflow(), buggy.refuses_twice(RuntimeError("again"), contract))[IDEMPOTENCE]
    assert verdict.outcome is Outcome.FAIL
    assert verdict.evidence is not None
    assert verdict.evidence.kind == "RuntimeError"


def test_documented_refusal_of_the_second_run_rejects(say: Say) -> None:
    refusal = Refusal("RuntimeError", "again", "done already", "the test")
    contract = buggy.promising("refuses_twice", Idempotence.REFUSES, second_run_refusals=(refusal,))
    verdict = say(samples.dataflow(), buggy.refuses_twice(RuntimeError("again"), contract))[IDEMPOTENCE]
    assert (verdict.outcome, verdict.reason) == (Outcome.REJECT, "second run: done already")


def test_ill_formed_second_output_fails_whatever_the_contract(say: Say) -> None:
    def run(module: Any) -> Any:
        marked = buggy.marks().given(module)
        again = "mark" in module["main"].attrs
        return buggy.drops("helper").given(marked) if again else marked

    verdict = say(samples.private_calls(), buggy.make("drops_later", run))[IDEMPOTENCE]
    assert verdict.outcome is Outcome.FAIL
    assert verdict.evidence is not None
    assert verdict.evidence.kind == "ill-formed"
    assert seen_line(verdict.evidence) == verdict.evidence.message.splitlines()[0], "the complaint, then what differs"


def test_what_a_tolerated_complaint_may_have_hidden_is_not_blamed_on_the_second_run(say: Say) -> None:
    def run(module: Any) -> Any:
        names = {var.name_hint for var in module.get_global_vars()}
        return buggy.drops("f1" if "f1" in names else "f0").given(module)

    chain = samples.private_chain()  # main calls f0 calls f1: the second run leaves another name undefined
    contract = Contract("drops_chain", tolerated_ill_formedness=(r'"f1".* is not defined',))
    verdict = say(chain, buggy.make("drops_chain", run), contracts=[contract])[IDEMPOTENCE]
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "output is ill-formed by design")


def test_pipelines_promise_nothing(say: Say) -> None:
    verdict = say(samples.dataflow(), buggy.identity(), buggy.identity())[IDEMPOTENCE]
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "pipelines promise no idempotence")


def test_precondition_that_the_output_does_not_meet_skips(say: Say) -> None:
    contract = Contract("marks", preconditions=(lambda module: "marked" if "mark" in module["main"].attrs else None,))
    verdict = say(samples.dataflow(), buggy.marks(), contracts=[contract])[IDEMPOTENCE]
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "second run: marked")


def test_sub_indexed_layouts_break_the_second_run_of_convert_layout(say: Say) -> None:
    convert = PassRef("ConvertLayout", 'relax.transform.ConvertLayout({"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]})')
    verdict = say(samples.convolution(), convert)[IDEMPOTENCE]
    assert verdict.outcome is Outcome.FAIL
    assert verdict.evidence is not None
    assert "Layouts must have the same size" in verdict.evidence.message


@I.ir_module
class Shared:
    """Two calls of one kernel of any size, of which ``SpecializePrimFuncBasedOnCallSite`` fits it to one."""

    @T.prim_func(private=True, s_tir=True)
    def copy(a: T.handle, b: T.handle):
        n = T.int64()
        A, B = T.match_buffer(a, (n,), "float32"), T.match_buffer(b, (n,), "float32")
        for i in range(n):
            B[i] = A[i]

    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        cls = Shared
        lv = R.call_tir(cls.copy, (x,), out_ty=R.Tensor((2,), "float32"))  # noqa: F841  # it is called
        return R.call_tir(cls.copy, (y,), out_ty=R.Tensor((1,), "float32"))


@I.ir_module
class Own:
    """One call of such a kernel."""

    @T.prim_func(private=True, s_tir=True)
    def copy(a: T.handle, b: T.handle):
        n = T.int64()
        A, B = T.match_buffer(a, (n,), "float32"), T.match_buffer(b, (n,), "float32")
        for i in range(n):
            B[i] = A[i]

    @R.function
    def main(y: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        cls = Own
        return R.call_tir(cls.copy, (y,), out_ty=R.Tensor((1,), "float32"))


@pytest.mark.parametrize(("module", "fits"), [(Shared, False), (Own, True)])
def test_a_call_that_fits_only_what_its_name_remembers_is_a_finding_of_the_first_run_alone(
    say: Say, module: Any, fits: bool
) -> None:
    expression = "relax.transform.SpecializePrimFuncBasedOnCallSite()"
    verdicts = say(module, PassRef("SpecializePrimFuncBasedOnCallSite", expression))
    assert verdicts[IDEMPOTENCE].outcome is (Outcome.PASS if fits else Outcome.SKIP)
    formed = verdicts[OracleName.WELL_FORMED]
    assert (formed.outcome is Outcome.PASS) is fits
    assert fits or formed.shown.kind == "mistyped-call"
