from __future__ import annotations

from typing import Any

import buggy_passes as buggy
import sample_modules as samples
from structural import Say

from oracles.core.verdict import Outcome
from relaxkit.passes.contract import Contract, OracleName
from relaxkit.passes.pass_ref import PassRef

DETERMINISM = OracleName.DETERMINISM


def test_counter_in_the_output_is_seen_and_blamed_by_no_other_oracle(say: Say) -> None:
    verdicts = say(samples.dataflow(), buggy.counts())
    assert [oracle for oracle, verdict in verdicts.items() if verdict.outcome is Outcome.FAIL] == [DETERMINISM]
    assert verdicts[OracleName.SEQUENTIAL].reason == "pass is not deterministic"


def test_clean_twin_passes(say: Say) -> None:
    assert say(samples.dataflow(), buggy.marks())[DETERMINISM].outcome is Outcome.PASS


def test_dependence_on_the_object_is_seen_on_the_reloaded_copy(say: Say) -> None:
    module = samples.dataflow()

    def same(candidate: Any) -> Any:
        return candidate if candidate.same_as(module) else buggy.marks().given(candidate)

    verdict = say(module, buggy.make("by_address", same))[DETERMINISM]
    assert verdict.outcome is Outcome.FAIL
    assert verdict.evidence is not None
    assert "reloaded copy" in verdict.evidence.observed


def test_error_in_a_later_run_is_seen(say: Say) -> None:
    runs: list[int] = []

    def second_fails(module: object) -> object:
        runs.append(1)
        if len(runs) == 2:
            raise KeyError("cache")
        return module

    verdict = say(samples.dataflow(), buggy.make("second_fails", second_fails))[DETERMINISM]
    assert verdict.outcome is Outcome.FAIL
    assert verdict.evidence is not None
    assert verdict.evidence.kind == "KeyError"


def test_ill_formed_output_is_not_judged(say: Say) -> None:
    verdict = say(samples.private_calls(), buggy.drops("helper"))[DETERMINISM]
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "output is ill-formed")


def test_passes_ordered_by_address_are_compared_on_the_same_object_only(say: Say) -> None:
    lower = PassRef("VMShapeLower", "relax.transform.VMShapeLower()")
    assert say(samples.symbolic(), lower)[DETERMINISM].outcome is Outcome.PASS
    contract = Contract("identity", address_ordered=True)
    assert say(samples.dataflow(), buggy.counts(), contracts=[contract])[DETERMINISM].outcome is Outcome.FAIL


def test_costly_pass_is_still_repeated(say: Say) -> None:
    for ordered in (False, True):
        contract = Contract("counts", costly=True, address_ordered=ordered)
        assert say(samples.dataflow(), buggy.counts(), contracts=[contract])[DETERMINISM].outcome is Outcome.FAIL


def test_output_that_does_not_equal_its_reload_is_not_compared(say: Say) -> None:
    """As AttachAttrLayoutFreeBuffers leaves buffers of the old function in annotations of the new one."""
    import tvm

    def dangling(module: object) -> object:
        stray = tvm.tirx.Var("stray", "int64")
        return buggy.each(lambda function: function.with_attr("mark", stray))(module)

    verdict = say(samples.dataflow(), buggy.make("dangling", dangling))[DETERMINISM]
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "output holds objects compared by identity")
