from __future__ import annotations

import buggy_passes as buggy
import sample_modules as samples
from structural import STRUCTURAL, Say

from oracles import ModuleFacts, judge
from oracles.core.subject import Subject
from oracles.core.verdict import Outcome
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

MUTATION = OracleName.MUTATION
UPDATE = PassRef("UpdateVDevice", 'relax.transform.UpdateVDevice(relax.VDevice("llvm", 2, "global"), 0)')


def test_attribute_set_on_the_input_is_seen(say: Say) -> None:
    verdict = say(samples.dataflow(), buggy.edits_input())[MUTATION]
    assert verdict.outcome is Outcome.FAIL
    assert verdict.evidence is not None
    assert verdict.evidence.kind == "mutated"
    assert "mark" in verdict.evidence.observed


def test_clean_twin_passes(say: Say) -> None:
    assert say(samples.dataflow(), buggy.marks())[MUTATION].outcome is Outcome.PASS


def test_new_names_are_seen_although_structural_comparison_is_blind_to_them(say: Say) -> None:
    verdict = say(samples.dataflow(), buggy.renames_parameters_of_input())[MUTATION]
    assert verdict.outcome is Outcome.FAIL
    assert verdict.evidence is not None
    assert verdict.evidence.observed.startswith("only parts that structural comparison ignores changed")


def test_update_vdevice_modifies_its_input(say: Say) -> None:
    assert say(samples.vdevices(), UPDATE)[MUTATION].outcome is Outcome.FAIL


def test_pipeline_blames_the_pass_that_edits(say: Say) -> None:
    verdict = say(samples.dataflow(), buggy.identity(), buggy.edits_input())[MUTATION]
    assert (verdict.outcome, verdict.culprit) == (Outcome.FAIL, "edits_input")


def test_next_subject_on_shared_facts_gets_an_unmodified_module() -> None:
    module = samples.vdevices()
    facts = ModuleFacts(module)
    snapshot = facts.snapshot
    judge(Subject(module, [UPDATE], facts=facts), STRUCTURAL)
    assert ModuleFacts(facts.module).snapshot == snapshot
    verdicts = judge(Subject(module, [PassRef("Normalize", "relax.transform.Normalize()")], facts=facts), STRUCTURAL)
    assert {verdict.outcome for verdict in verdicts} == {Outcome.PASS}


def test_later_runs_of_a_pipeline_that_modified_its_input_are_not_compared(say: Say) -> None:
    verdicts = say(samples.vdevices(), PassRef("Normalize", "relax.transform.Normalize()"), UPDATE)
    assert (verdicts[MUTATION].outcome, verdicts[MUTATION].culprit) == (Outcome.FAIL, "UpdateVDevice")
    assert verdicts[OracleName.SEQUENTIAL].reason == "input was modified"
    assert verdicts[OracleName.DETERMINISM].reason == "input was modified"
