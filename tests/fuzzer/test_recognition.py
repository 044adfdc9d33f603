from pathlib import Path

import pytest
from sample_records import META, hit, shard

from fuzzer.campaign.known_filter import KnownFilter
from fuzzer.findings.assessment import Assessment, EvidenceClass, Severity
from fuzzer.findings.family import UNKNOWN, Traits
from fuzzer.findings.file import Decision, Decisions, KnownFinding, KnownFindings
from fuzzer.findings.script_parts import ScriptParts, Words
from fuzzer.store.records import Earlier, EarlierState, FindingRecord
from fuzzer.store.writer import FindingState, Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.create(tmp_path / "c", META)
    store.record_shard(shard(0, hit("boom", 1)), 1.0)
    return store


def found(store: Store) -> FindingRecord:
    return store.findings()[0]


def test_a_listed_finding_is_recorded_as_known(store: Store) -> None:
    finding = found(store)
    recognizer = KnownFilter(store, KnownFindings((KnownFinding(finding.id, "", "issue 7", "w"),)), None)
    assert recognizer.ids == {finding.id}
    assert recognizer.shelve(finding.id)
    assert (found(store).state, found(store).note) == (
        FindingState.KNOWN,
        "known on your list (findings.toml): issue 7",
    )
    assert store.untriaged() == []


def test_others_are_left_alone(store: Store) -> None:
    finding = found(store)
    for known in (KnownFindings(), KnownFindings((KnownFinding("0123456789", "", "r", "w"),)), None):
        assert not KnownFilter(store, known, None).shelve(finding.id)
    assert found(store).state is FindingState.NEW


def test_an_entry_for_other_releases_counts_for_nothing(store: Store) -> None:
    finding = found(store)
    entry = KnownFinding(finding.id, "", "r", "w", tvm="<0.27")
    recognizer = KnownFilter(store, KnownFindings((entry,)), None)
    assert recognizer.ids == frozenset()
    assert not recognizer.shelve(finding.id)


def test_a_family_is_recognized_once_it_is_certain(store: Store) -> None:
    finding = found(store)
    traits = Traits("FuseOps")
    assert not finding.family.final, "a more elementary pass may be what fails"
    known = KnownFindings((KnownFinding("", "", "issue 7", "w", family=finding.family.id),))
    recognizer = KnownFilter(store, known, None)
    assert recognizer.ids == frozenset(), "only single findings cut a case short"
    assert not recognizer.shelve(finding.id)
    assert recognizer.likely == {finding.id}, "it is looked into behind all others"
    assert recognizer.listed(finding, UNKNOWN) == ""
    assert recognizer.listed(finding, traits) == "known on your list (findings.toml): issue 7"
    assert recognizer.listed(finding, Traits("Normalize")) == ""


def test_decisions_say_which_family_is_meant(store: Store) -> None:
    finding = found(store)
    known = KnownFindings((KnownFinding("", "", "issue 7", "w", family="F012345678"),))
    decisions = Decisions((Decision("F012345678", (finding.family.id,), "one cause"),))
    assert (
        KnownFilter(store, known, decisions).listed(finding, Traits("FuseOps"))
        == "known on your list (findings.toml): issue 7"
    )


@pytest.mark.parametrize("listed", [False, True])
def test_what_an_earlier_campaign_found_keeps_what_triage_found_out(store: Store, listed: bool) -> None:
    finding = found(store)
    parts = ScriptParts("x", False, Words("FuseOps forgets a function", "it lives", "it does not"))
    traits, weight = Traits("FuseOps"), Assessment(EvidenceClass.HARD, Severity.S4, "FuseOps", final=True)
    earlier = Earlier(
        "old", finding.id, finding.signature, finding.oracle, finding.culprit, "m", EarlierState.FAILS,
        cases=(finding.case, finding.case), parts=parts, traits=traits, assessed=weight,
    )  # fmt: skip
    store.save_regression(earlier)
    known = KnownFindings((KnownFinding(finding.id, "", "issue 7", "w"),)) if listed else None
    assert KnownFilter(store, known, None).shelve(finding.id)
    again = found(store)
    assert again.note.startswith("known on your list" if listed else "found before, by 'old'")
    assert (again.state, again.title) == (FindingState.KNOWN, "FuseOps forgets a function")
    assert (again.traits, again.assessment) == (traits, weight)
