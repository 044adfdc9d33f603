from __future__ import annotations

import buggy_passes as buggy
import sample_modules as samples
from structural import Say
from tvm import relax

from corpus.case import load, load_module
from oracles.core.verdict import Breadcrumb, Outcome
from relaxkit.passes.contract import Contract, Idempotence, OracleName, Refusal
from relaxkit.passes.pass_ref import PassRef

CRASH = OracleName.CRASH
DOCUMENTED = Contract("raises", refusals=(Refusal("ValueError", "not supported", "unsupported", "the test"),))


def test_error_without_documentation_fails_with_its_type_and_message(say: Say) -> None:
    verdict = say(samples.dataflow(), buggy.raises(AttributeError("no attribute 'dtype'")))[CRASH]
    assert verdict.outcome is Outcome.FAIL
    assert verdict.evidence is not None
    assert (verdict.evidence.kind, verdict.evidence.message) == ("AttributeError", "no attribute 'dtype'")


def test_clean_twin_passes(say: Say) -> None:
    assert say(samples.dataflow(), buggy.identity())[CRASH].outcome is Outcome.PASS


def test_documented_refusal_rejects_and_the_others_skip(say: Say) -> None:
    verdicts = say(samples.dataflow(), buggy.raises(ValueError("this is not supported")), contracts=[DOCUMENTED])
    assert (verdicts[CRASH].outcome, verdicts[CRASH].reason) == (Outcome.REJECT, "unsupported")
    assert verdicts[OracleName.WELL_FORMED].reason == "no output"
    assert verdicts[OracleName.MUTATION].outcome is Outcome.PASS  # judged even so


def test_refusal_of_another_type_or_text_is_a_failure(say: Say) -> None:
    for error in (TypeError("this is not supported"), ValueError("something else")):
        assert say(samples.dataflow(), buggy.raises(error), contracts=[DOCUMENTED])[CRASH].outcome is Outcome.FAIL


def test_frames_lie_in_tvm_innermost_first(say: Say) -> None:
    merge = PassRef("MergeCompositeFunctions", "relax.transform.MergeCompositeFunctions()")
    verdict = say(samples.composites(samples.two_functions()), merge)[CRASH]
    assert verdict.outcome is Outcome.FAIL
    assert verdict.evidence is not None
    assert "could not be found in any group" in verdict.evidence.message
    assert verdict.evidence.frames[0] == "src/relax/transform/fuse_ops.cc:relax::OperatorFusor::GetGroupFromVar"


def test_pipeline_blames_the_pass_that_raised(say: Say) -> None:
    verdicts = say(samples.dataflow(), buggy.identity(), buggy.raises(ValueError("odd")), buggy.marks())
    assert (verdicts[CRASH].outcome, verdicts[CRASH].culprit) == (Outcome.FAIL, "raises")
    assert verdicts[OracleName.SEQUENTIAL].reason == "both raise the same error"


def test_pass_after_an_ill_formed_module_is_not_blamed(say: Say) -> None:
    verdicts = say(samples.private_calls(), buggy.drops("helper"), buggy.raises(ValueError("odd")))
    assert verdicts[CRASH].outcome is Outcome.SKIP
    assert verdicts[CRASH].reason == "input of the pass is ill-formed"


def test_pass_after_a_kernel_that_reads_what_nothing_declares_is_not_blamed(say: Say) -> None:
    (known,) = load(["split-layout-rewrite-also-read"])
    raising, module = buggy.raises(ValueError("odd")), load_module(known)
    assert say(module, raising)[CRASH].outcome is Outcome.FAIL
    assert say(module, *known.passes, raising)[CRASH].reason == "input of the pass is ill-formed"
    made = known.passes[0].build()(module)
    relax.analysis.well_formed(made)
    assert say(made, raising)[CRASH].reason == "a kernel of the input is ill-formed"


def test_error_of_a_preparing_pass_is_no_failure_of_the_judged_one(say: Say) -> None:
    contract = Contract("identity", prepare=("MergeCompositeFunctions",))
    verdicts = say(samples.two_functions(), buggy.identity(), contracts=[contract])
    assert {verdict.reason for verdict in verdicts.values()} == {"prepare failed: MergeCompositeFunctions"}
    assert {verdict.outcome for verdict in verdicts.values()} == {Outcome.SKIP}


def test_unmet_precondition_skips_everything(say: Say) -> None:
    contract = Contract("raises", preconditions=(lambda module: "not for this module",))
    verdicts = say(samples.dataflow(), buggy.raises(ValueError("odd")), contracts=[contract])
    assert {(verdict.outcome, verdict.reason) for verdict in verdicts.values()} == {
        (Outcome.SKIP, "not for this module")
    }


def test_stages_name_the_pass_before_it_runs(say: Say) -> None:
    stages: list[str] = []
    fuse = PassRef("FuseTIR", "relax.transform.FuseTIR()")
    say(samples.dataflow(), fuse, stage=lambda text: stages.append(Breadcrumb.read(text).title))
    assert stages[:4] == ["prepare: LegalizeOps", "prepare: AnnotateTIROpPattern", "prepare: FuseOps", "crash: FuseTIR"]
    assert all("FuseTIR" in stage for stage in stages[4:])
    assert {stage.split(":")[0] for stage in stages} >= {"determinism", "sequential", "idempotence"}


def test_failing_inside_a_stock_pipeline_blames_the_inner_pass(say: Say) -> None:
    from relaxkit.passes.contracts.pipelines import pipeline

    verdict = say(samples.branches(), pipeline("build:default"))[OracleName.WELL_FORMED]
    assert (verdict.outcome, verdict.culprit) == (Outcome.FAIL, "StaticPlanBlockMemory")


def test_second_run_is_not_the_crash_oracles_business(say: Say) -> None:
    contract = buggy.promising("refuses_twice", Idempotence.UNKNOWN)
    assert say(samples.dataflow(), buggy.refuses_twice(ValueError(), contract))[CRASH].outcome is Outcome.PASS
