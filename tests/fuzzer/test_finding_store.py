from pathlib import Path

from sample_records import META, hit, shard

from fuzzer.findings.family import UNKNOWN, Skeleton, Traits
from fuzzer.store.records import Cost
from fuzzer.store.writer import FindingState, Store

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
