from pathlib import Path

from sample_records import META, hit, shard

from fuzzer.store.records import Cost
from fuzzer.store.writer import FindingState, Store
from reports.tables import KnownCost, known_cost


def test_the_share_of_known_findings(tmp_path: Path) -> None:
    with Store.create(tmp_path / "c", META) as store:
        result = shard(0, hit("boom", 1, 5), hit("bang", 2, 3))
        known, new = result.hits
        result.failing.update({known: 2.0, new: 3.0})
        store.record_shard(result, 1.0)
        store.save_triage(known, FindingState.KNOWN, None, None, None, "listed as known: r")
        budget = known_cost(store.findings(), store.costs(), 8.0)
    assert (budget.findings, budget.hits, budget.seconds, budget.share) == (1, 5, 2.0, 0.25)
    assert budget.text == "Findings known at the start: 1, found 5 times, took 25.0% of the time (2 s)"
    assert budget.to_object()["share"] == 0.25


def test_once_is_no_number_of_times() -> None:
    assert KnownCost(1, 1, 1.0, 4.0).text == "Findings known at the start: 1, found once, took 25.0% of the time (1 s)"


def test_nothing_is_known_of_older_campaigns() -> None:
    assert known_cost([], {"0123456789": Cost(3.0)}, 0.0).share == 0.0
