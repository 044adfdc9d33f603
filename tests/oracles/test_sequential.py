from __future__ import annotations

import sys
from typing import Any

import buggy_passes as buggy
import sample_modules as samples
import tvm
from structural import Say

from oracles.core.verdict import Evidence, Outcome
from oracles.metamorphic.relations import same_error
from relaxkit.passes.contract import Contract, OracleName
from relaxkit.passes.pass_ref import GivenPass

SEQUENTIAL = OracleName.SEQUENTIAL


def _in_sequential() -> bool:
    frame: Any = sys._getframe(1)
    while frame is not None:
        if isinstance(frame.f_locals.get("self"), tvm.transform.Sequential):
            return True
        frame = frame.f_back
    return False


def _only_outside() -> GivenPass:
    return buggy.make("only_outside", lambda module: module if _in_sequential() else buggy.marks().given(module))


def _fails_inside() -> GivenPass:
    def run(module: Any) -> Any:
        if _in_sequential():
            raise ValueError("not here")
        return module

    return buggy.make("fails_inside", run)


def test_pass_that_knows_its_caller_is_seen(say: Say) -> None:
    verdicts = say(samples.dataflow(), _only_outside())
    assert [oracle for oracle, verdict in verdicts.items() if verdict.outcome is Outcome.FAIL] == [SEQUENTIAL]
    evidence = verdicts[SEQUENTIAL].evidence
    assert evidence is not None
    assert (evidence.kind, evidence.message) == ("not-equal", "another Function")


def test_clean_twin_passes(say: Say) -> None:
    assert say(samples.dataflow(), buggy.marks())[SEQUENTIAL].outcome is Outcome.PASS


def test_error_on_one_way_only_is_a_failure(say: Say) -> None:
    verdict = say(samples.dataflow(), _fails_inside())[SEQUENTIAL]
    assert verdict.outcome is Outcome.FAIL
    assert verdict.evidence is not None
    assert verdict.evidence.kind == "ValueError"
    assert verdict.evidence.expected == "direct calls: no error"


def test_same_error_both_ways_is_left_to_the_crash_oracle(say: Say) -> None:
    verdict = say(samples.dataflow(), buggy.raises(ValueError("at 0x7f12")))[SEQUENTIAL]
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "both raise the same error")


def test_pipeline_blames_the_first_pass_that_differs(say: Say) -> None:
    verdict = say(samples.dataflow(), buggy.identity(), _only_outside(), buggy.identity())[SEQUENTIAL]
    assert (verdict.outcome, verdict.culprit) == (Outcome.FAIL, "only_outside")


def test_pass_above_the_default_level_runs_both_ways(say: Say) -> None:
    built = tvm.transform.module_pass(
        lambda module, _context: buggy.marks().given(module), opt_level=4, name="high_level"
    )
    assert say(samples.dataflow(), GivenPass("high_level", "", built))[SEQUENTIAL].outcome is Outcome.PASS


def test_mutating_pass_whose_second_run_differs_is_seen_here_too(say: Say) -> None:
    """As RealizeVDevice did (upstream 17205): only the first application is right, the input being modified."""

    def run(module: Any) -> Any:
        name = module.get_global_vars()[0]
        seen = "seen" in module[name].attrs
        result = module.clone()
        result.update_func(name, module[name].with_attr("result", "wrong" if seen else "right"))
        module.update_func(name, module[name].with_attr("seen", 1))
        return result

    verdicts = say(samples.dataflow(), buggy.make("in_place", run), contracts=[Contract("in_place")])
    assert verdicts[OracleName.MUTATION].outcome is Outcome.FAIL
    assert verdicts[SEQUENTIAL].outcome is Outcome.FAIL


def test_the_order_in_which_a_message_lists_functions_does_not_matter() -> None:
    frames = ("src/ir/module.cc:IRModuleNode::GetGlobalVar",)
    left = Evidence("ValueError", 'Cannot find global var "main" in the Module\ncandidates are: ["a", "b"]', frames)
    right = Evidence("ValueError", 'Cannot find global var "main" in the Module\ncandidates are: ["b", "a"]', frames)
    elsewhere = Evidence("ValueError", left.message, ("src/relax/transform/other.cc:Other",))
    assert same_error(left, right)
    assert not same_error(left, elsewhere)
    assert not same_error(Evidence("ValueError", "one"), Evidence("ValueError", "two"))
