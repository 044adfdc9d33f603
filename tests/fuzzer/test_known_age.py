import datetime
from pathlib import Path

import pytest
from sample_records import META, hit, shard

from fuzzer.clock import TODAY, today
from fuzzer.known import Bound, KnownFinding, KnownFindings
from fuzzer.known_age import CampaignSeen, Fault, Met, campaign_seen, entry_faults, expired, out_of_range, stale_entries
from fuzzer.store import Store

ID, OTHER = "0123456789", "9876543210"
DAY = datetime.date(2027, 3, 1)


def entry(finding_id: str = ID, **more: object) -> KnownFinding:
    return KnownFinding(finding_id, "", "r", "w", **more)  # type: ignore[arg-type]


def campaign(day: int, checks: dict[str, int], *met: Met, version: str = "0.27.0.post1") -> CampaignSeen:
    return CampaignSeen(f"2027-01-{day:02}T00:00:00+00:00", version, checks, met)


MET = Met(ID, "a signature", "F012345678", "FuseOps", 3)


def test_an_entry_expires_on_its_day() -> None:
    known = KnownFindings((entry(expires=DAY), entry(OTHER)))
    assert expired(known, DAY - datetime.timedelta(days=1)) == ()
    assert expired(known, DAY) == known.entries[:1]


def test_an_entry_speaks_of_some_releases() -> None:
    known = KnownFindings((entry(releases=(Bound("<", (0, 27)),)), entry(OTHER)))
    assert out_of_range(known, "0.26.0") == ()
    assert out_of_range(known, "0.27.0.post1") == known.entries[:1]


def test_an_entry_is_stale_when_the_last_campaigns_that_tested_its_pass_did_not_meet_it() -> None:
    known = KnownFindings((entry(culprit="FuseOps"),))
    old, silent = campaign(1, {"FuseOps": 9}, MET), [campaign(day, {"FuseOps": 9}) for day in (2, 3)]
    assert stale_entries(known, [old, *silent], least=2) == known.entries
    assert stale_entries(known, [*silent, old], least=2) == known.entries, "the order is that of time"
    assert stale_entries(known, [old, *silent], least=3) == (), "the first of three met it"
    assert stale_entries(known, silent, least=3) == (), "two campaigns are not three"


def test_campaigns_that_could_not_meet_an_entry_say_nothing() -> None:
    known = KnownFindings((entry(culprit="FuseOps", releases=(Bound(">=", (0, 27)),)),))
    elsewhere = [campaign(day, {"LegalizeOps": 9}) for day in (1, 2)]
    before = [campaign(day, {"FuseOps": 9}, version="0.26.0") for day in (3, 4)]
    nothing = [campaign(day, {"FuseOps": 0}) for day in (5, 6)]
    assert stale_entries(known, [*elsewhere, *before, *nothing], least=2) == ()


def test_the_pass_of_an_entry_is_learnt_from_its_hits() -> None:
    known = KnownFindings((entry(),))
    met, silent = campaign(1, {"FuseOps": 9}, MET), [campaign(day, {"LegalizeOps": 9}) for day in (2, 3)]
    assert stale_entries(known, [met, *silent], least=2) == (), "none of the later ones tested FuseOps"
    assert stale_entries(known, silent, least=2) == known.entries, "nobody knows its pass"


def test_a_family_is_met_by_any_of_its_findings() -> None:
    known = KnownFindings((KnownFinding("", "", "r", "w", family="F012345678"),))
    assert campaign(1, {}, MET).hits(known.entries[0]) == 3
    assert campaign(1, {}, Met(OTHER, "s", "F000000000", "FuseOps", 1)).hits(known.entries[0]) == 0


def test_all_faults_are_told_in_one_line_each() -> None:
    first = entry(expires=DAY, releases=(Bound("<", (0, 27)),))
    second = entry(OTHER, culprit="FuseOps")
    silent = [campaign(day, {"FuseOps": 9}) for day in (1, 2)]
    found = entry_faults(KnownFindings((first, second)), DAY, "0.27.0.post1", silent, least=2)
    assert [(each.entry.name, each.fault) for each in found] == [
        (ID, Fault.EXPIRED), (ID, Fault.OUT_OF_RANGE), (OTHER, Fault.STALE),
    ]  # fmt: skip
    assert found[0].text == f"known '{ID}' (r) expired on 2027-03-01"
    assert not any("\n" in each.text for each in found)


def test_a_campaign_is_read_from_its_store(tmp_path: Path) -> None:
    with Store.create(tmp_path / "c", META) as store:
        store.record_shard(shard(0, hit("boom", 1, 2)), 1.0)
        seen = campaign_seen(store)
    assert seen.tvm_version == META["tvm_version"]
    assert seen.checks == {"FuseOps": 64}
    (met,) = seen.met
    assert (met.culprit, met.count) == ("FuseOps", 2)
    assert seen.hits(entry(met.id)) == 2
    assert seen.hits(KnownFinding("", "", "r", "w", family=met.family)) == 2


def test_the_date_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TODAY, "2027-03-01")
    assert today() == DAY
    monkeypatch.setenv(TODAY, "tomorrow")
    with pytest.raises(ValueError, match="RELAXFUZZ_TODAY is 'tomorrow', not a day"):
        today()
    monkeypatch.delenv(TODAY)
    assert today() >= datetime.date(2025, 1, 1)
