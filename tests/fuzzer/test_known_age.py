import datetime
from dataclasses import replace
from typing import Any

import pytest

from fuzzer.findings.file import KnownFinding
from fuzzer.gate.entries import TODAY, Fault, entry_faults, is_stale, today
from fuzzer.gate.measured import Cell, MeasuredCampaign, SeenFinding
from fuzzer.store.records import CampaignInfo, CampaignState

ID, OTHER = "0123456789", "9876543210"
DAY = datetime.date(2027, 3, 1)
INFO = CampaignInfo(7, "", 1.0, 9, 9, 1, "0.27.0.post1", "", ("FuseOps",), ("crash",), CampaignState.FINISHED, "")
MET = SeenFinding(ID, "a signature", "crash", "FuseOps", 3, "F012345678")


def entry(finding_id: str = ID, **more: Any) -> KnownFinding:
    return KnownFinding(finding_id, "", "r", "w", **more)


def measured(day: int, checks: dict[str, int], *met: SeenFinding, version: str = "0.27.0.post1") -> MeasuredCampaign:
    info = replace(INFO, started_at=f"2027-01-{day:02}T00:00:00+00:00", tvm_version=version)
    return MeasuredCampaign(info, {("crash", name): Cell(passed=count) for name, count in checks.items()}, {}, met)


def faults(one: KnownFinding, day: datetime.date = DAY, version: str = "0.27.0.post1") -> list[Fault]:
    return [fault for fault, _ in entry_faults(one, day, measured(1, {}, version=version))]


def test_an_entry_expires_on_its_day() -> None:
    assert faults(entry(expires=DAY), DAY - datetime.timedelta(days=1)) == []
    assert faults(entry(expires=DAY)) == [Fault.EXPIRED]
    assert faults(entry()) == []


def test_an_entry_speaks_of_some_releases() -> None:
    assert faults(entry(tvm="<0.27"), version="0.26.0") == []
    assert faults(entry(tvm="<0.27")) == [Fault.OUT_OF_RANGE]


def test_an_entry_is_stale_when_the_last_campaigns_that_tested_its_pass_did_not_meet_it() -> None:
    known = entry(culprit="FuseOps")
    old, silent = measured(1, {"FuseOps": 9}, MET), [measured(day, {"FuseOps": 9}) for day in (2, 3)]
    assert is_stale(known, [old, *silent], least=2)
    assert is_stale(known, [*silent, old], least=2), "the order is that of time"
    assert not is_stale(known, [old, *silent], least=3), "the first of three met it"
    assert not is_stale(known, silent, least=3), "two campaigns are not three"


def test_campaigns_that_could_not_meet_an_entry_say_nothing() -> None:
    known = entry(culprit="FuseOps", tvm=">=0.27")
    elsewhere = [measured(day, {"LegalizeOps": 9}) for day in (1, 2)]
    before = [measured(day, {"FuseOps": 9}, version="0.26.0") for day in (3, 4)]
    nothing = [measured(day, {"FuseOps": 0}) for day in (5, 6)]
    assert not is_stale(known, [*elsewhere, *before, *nothing], least=2)


def test_the_pass_of_an_entry_is_learnt_from_its_hits() -> None:
    met, silent = measured(1, {"FuseOps": 9}, MET), [measured(day, {"LegalizeOps": 9}) for day in (2, 3)]
    assert not is_stale(entry(), [met, *silent], least=2), "none of the later ones tested FuseOps"
    assert is_stale(entry(), silent, least=2), "nobody knows its pass"


def test_a_family_is_met_by_any_of_its_findings() -> None:
    known = KnownFinding("", "", "r", "w", family="F012345678")
    silent = measured(1, {"FuseOps": 9})
    assert not is_stale(known, [silent, measured(2, {"FuseOps": 9}, MET)], least=1)
    other = SeenFinding(OTHER, "s", "crash", "FuseOps", 1, "F000000000")
    assert is_stale(known, [silent, measured(2, {"FuseOps": 9}, other)], least=1)


def test_all_faults_are_told_in_one_line_each() -> None:
    silent = measured(1, {"FuseOps": 9})
    first = [*entry_faults(entry(expires=DAY, tvm="<0.27"), DAY, silent, [silent], least=2)]
    assert [fault for fault, _ in first] == [Fault.EXPIRED, Fault.OUT_OF_RANGE]
    assert first[0][1] == "expired on 2027-03-01"
    second = [*entry_faults(entry(OTHER, culprit="FuseOps"), DAY, silent, [silent], least=2)]
    assert second == [(Fault.STALE, "did not occur in the last 2 campaigns that tested its pass")]


def test_the_date_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TODAY, "2027-03-01")
    assert today() == DAY
    monkeypatch.setenv(TODAY, "tomorrow")
    with pytest.raises(ValueError, match="RELAXFUZZ_TODAY is 'tomorrow', not a date such as 2027-03-01"):
        today()
    monkeypatch.delenv(TODAY)
    assert today() >= datetime.date(2025, 1, 1)
