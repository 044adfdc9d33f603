from dataclasses import replace
from pathlib import Path

from sample_records import META, hit, shard, verdict

from fuzzer.findings.family import UNKNOWN, Skeleton, Traits
from fuzzer.findings.script_parts import ScriptParts, Words
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


def test_texts_tell_of_what_the_script_shows(tmp_path: Path) -> None:
    """Where that is another case than the minimized one; a campaign of before has none."""
    with Store.create(tmp_path / "c", META) as store:
        (name,) = store.record_shard(shard(0, hit("boom", 1)), 1.0)
        judged = store.finding(name)
        assert (judged.failure, judged.shown_case) == (judged.verdict, judged.case)
        other = (replace(judged.case, module_json="[]"), replace(verdict("bang"), culprit="RealizeVDevice"))
        words = Words("RealizeVDevice fails", "it returns", "bang")
        for each, told in ((other, other[1]), ((other[0], replace(other[1], evidence=None)), judged.verdict)):
            parts = ScriptParts("x", False, words, other=each)
            store.save_triage(name, FindingState.CONFIRMED, judged.case, 1, None, "", parts=parts)
            found = store.finding(name)
            assert (found.failure, found.shown_case, found.verdict) == (told, other[0], judged.verdict)
