"""How much a finding weighs: by its evidence alone, and as triage has found out."""

from __future__ import annotations

from pathlib import Path

import pytest
from sample_records import META, hit, shard

from fuzzer.findings.assessment import Assessment, EvidenceClass, Severity, provisional
from fuzzer.store.records import FindingState
from fuzzer.store.writer import Store
from oracles.core.verdict import Death, Details, Evidence, Outcome, Verdict
from relaxkit.passes.contract import Circumstance, OracleName

HARD, DOCUMENTED, OURS, DEBATABLE = EvidenceClass


def test_each_class_of_evidence_is_told_in_its_own_words() -> None:
    assert len({each.words for each in EvidenceClass}) == len(EvidenceClass)
    assert "debatable" in DEBATABLE.words


S1, _, S3, _, S5 = Severity


def verdict(oracle: OracleName, kind: str, details: Details | None = None) -> Verdict:
    return Verdict(oracle, Outcome.FAIL, "FuseOps", evidence=Evidence(kind, "wrong", details=details or Details()))


@pytest.mark.parametrize(
    ("oracle", "kind", "expected"),
    [
        (OracleName.NUMERIC, "wrong-value", (HARD, S1)),
        (OracleName.NUMERIC, "input-overwritten", (HARD, S1)),
        (OracleName.NUMERIC, "not-as-documented", (DOCUMENTED, S1)),
        (OracleName.NUMERIC, "does-not-build", (HARD, S3)),
        (OracleName.CRASH, "InternalError", (HARD, S3)),
        (OracleName.MUTATION, "mutated", (HARD, S3)),
        (OracleName.WELL_FORMED, "ill-formed", (HARD, S3)),
        (OracleName.WELL_FORMED, "mistyped-call", (DOCUMENTED, S3)),
        (OracleName.WELL_FORMED, "signature", (DOCUMENTED, S3)),
        (OracleName.IDEMPOTENCE, "not-equal", (OURS, S5)),
        (OracleName.IDEMPOTENCE, "InternalError", (HARD, S3)),
        (OracleName.LOCALITY, "not-local", (OURS, S5)),
        (OracleName.POSTCONDITION, "not-done", (DOCUMENTED, S3)),
        (OracleName.ROUNDTRIP, "not-parsed", (HARD, S5)),
        (OracleName.ROUNDTRIP, "unlisted-device", (HARD, S5)),
        (OracleName.ENVIRONMENT, "InternalError", (HARD, S5)),
    ],
)
def test_the_kind_of_evidence_tells_what_it_rests_on(
    oracle: OracleName, kind: str, expected: tuple[EvidenceClass, Severity]
) -> None:
    found = provisional(verdict(oracle, kind))
    assert (found.evidence, found.severity) == expected
    assert (found.blame, found.question, found.final) == ("FuseOps", expected[0] is OURS, False)


def test_the_oracle_may_say_what_its_failure_rests_on() -> None:
    found = provisional(verdict(OracleName.POSTCONDITION, "not-done", Details(rests_on=OURS)))
    assert (found.evidence, found.severity) == (OURS, S5)


def test_what_differs_only_where_inputs_are_immutable_shows_an_edited_input() -> None:
    details = Details(circumstance=Circumstance.IMMUTABLE.value)
    found = provisional(verdict(OracleName.ENVIRONMENT, "not-equal", details))
    assert (found.evidence, found.severity) == (HARD, S3)
    found = provisional(verdict(OracleName.ENVIRONMENT, "not-equal", Details(circumstance="at level 0")))
    assert (found.evidence, found.severity) == (OURS, S5)


def test_what_the_printer_raises_is_no_graver_than_a_failed_round_trip() -> None:
    for place, severity in (("src/relax/script/printer/tir.cc", S5), ("src/relax/ir/expr.cc", S3)):
        evidence = Evidence("InternalError", "wrong", frames=(f"{place}:function",))
        assert provisional(Verdict(OracleName.CRASH, Outcome.FAIL, "analysis", evidence=evidence)).severity is severity


def test_a_death_is_grave_whatever_the_oracle() -> None:
    found = provisional(verdict(OracleName.ENVIRONMENT, "signal 11", Details(death=Death.SIGNAL, code=11)))
    assert (found.evidence, found.severity) == (HARD, S3)


def test_the_store_keeps_what_triage_found_out(tmp_path: Path) -> None:
    heavy = Assessment(HARD, Severity.S4, "LambdaLift", "only with a local function", stock=True, final=True)
    with Store.create(tmp_path, META) as store:
        (name,) = store.record_shard(shard(0, hit("boom", 1)), 1.0)
        before = store.finding(name)
        assert before.assessed is None
        assert before.assessment == provisional(before.verdict)
        store.save_triage(name, FindingState.CONFIRMED, None, None, None, "", assessed=heavy)
        store.save_triage(name, FindingState.CONFIRMED, None, None, None, "again, and asked of nothing")
        found = store.finding(name)
    assert found.assessment == heavy
    assert found.to_object().items() >= {"class": "hard", "severity": "S4", "blame": "LambdaLift"}.items()


def test_what_triage_found_out_replaces_what_the_evidence_says(tmp_path: Path) -> None:
    with Store.create(tmp_path, META) as store:
        (name,) = store.record_shard(shard(0, hit("boom", 1)), 1.0)
    with Store.open(tmp_path) as reader:
        assert reader.finding(name).assessment.severity is S3
    heavy = Assessment(HARD, S1, "FuseOps", final=True)
    with Store.open(tmp_path, read_only=False) as writer:
        writer.save_triage(name, FindingState.CONFIRMED, None, None, None, "", assessed=heavy)
        assert writer.finding(name).assessment == heavy


def test_what_only_the_contract_of_a_users_pass_promises_is_not_said_to_be_documented_by_tvm() -> None:
    for oracle in (OracleName.DETERMINISM, OracleName.SEQUENTIAL, OracleName.LOCALITY):  # TVM has function passes
        failed = verdict(oracle, "not-equal", Details(rests_on=EvidenceClass.DOCUMENTED))
        contract = "breaks its contract (the default one, unless the pass has its own)"
        said = contract if oracle is OracleName.DETERMINISM else "contradicts what TVM documents"
        assert f"; {said}." in provisional(failed).told(failed)


@pytest.mark.parametrize(
    ("kind", "source", "said"),
    [
        ("not-done", 'documentation of f: "It keeps x"', "contradicts what TVM documents"),
        ("not-done", "its documentation: 'Drop all'", "contradicts what TVM documents"),
        ("not-done", "its documentation: update the device", "breaks what its documentation describes"),
        ("not-done", "header of src/relax/a.cc", "breaks what its header describes"),
        ("not-done", "src/relax/a.cc: Run", "breaks what TVM's source code says or implies"),
        ("not-done", "", "contradicts what TVM documents"),
        ("not-as-documented", "", "not what the documentation of the operator describes"),
        ("wrong-gradient", "", "not what the documentation of the pass describes"),
    ],
)
def test_tvms_documentation_is_contradicted_only_where_it_is_quoted(kind: str, source: str, said: str) -> None:
    failed = verdict(OracleName.POSTCONDITION, kind, Details(source=source))
    assert f"; {said}." in provisional(failed).told(failed)


def test_wrong_results_that_a_broken_promise_leads_to_are_not_said_to_contradict_documentation() -> None:
    broken = provisional(verdict(OracleName.POSTCONDITION, "not-done"))
    assert "contradicts" not in broken.told(verdict(OracleName.NUMERIC, "wrong-value"))
