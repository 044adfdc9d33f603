import sqlite3
from contextlib import closing
from pathlib import Path

from sample_records import META, hit, shard

from fuzzer.families import UNKNOWN, Skeleton, Traits
from fuzzer.finding_store import Cost
from fuzzer.store import FILE_NAME, FindingState, Store

TRAITS = Traits("Normalize", Skeleton(("abs",), ("if",)))


def test_traits_and_costs_are_kept(tmp_path: Path) -> None:
    with Store.create(tmp_path / "c", META) as store:
        result = shard(0, hit("boom", 1), hit("bang", 2))
        first, second = result.hits
        result.failing.update({first: 1.5, second: 0.5})
        store.record_shard(result, 1.0)
        store.save_triage(first, FindingState.CONFIRMED, None, 3, None, "", TRAITS, 4.0)
    with Store.open(tmp_path / "c") as store:
        assert {each.id: each.traits for each in store.findings()} == {first: TRAITS, second: UNKNOWN}
        assert store.costs() == {first: Cost(1.5, 4.0), second: Cost(0.5, 0.0)}


def test_a_campaign_of_before_is_read_and_gone_on_with(tmp_path: Path) -> None:
    with Store.create(tmp_path / "c", META) as store:
        store.record_shard(shard(0, hit("boom", 1)), 1.0)
    with closing(sqlite3.connect(tmp_path / "c" / FILE_NAME)) as database:
        database.executescript("DROP TABLE traits; DROP TABLE costs;")
    with Store.open(tmp_path / "c") as store:
        (finding,) = store.findings()
        assert (finding.traits, store.costs()) == (UNKNOWN, {})
        assert not finding.family.final
    with Store.open(tmp_path / "c", read_only=False) as store:
        store.save_triage(finding.id, FindingState.CONFIRMED, None, 3, None, "", TRAITS, 4.0)
        assert store.findings()[0].traits == TRAITS
