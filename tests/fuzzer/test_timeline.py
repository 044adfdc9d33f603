"""How a campaign went over time: buckets, what is counted, where the time went."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from sample_records import META, hit, shard

from fuzzer.shard.shard import Stopwatch, step_of
from fuzzer.store import timeline
from fuzzer.store.writer import Store


def test_a_night_needs_hundreds_of_moments_and_not_thousands() -> None:
    moments = {timeline.bucket(second) for second in range(8 * 3600)}
    assert 64 <= len(moments) < 700
    assert all(timeline.bucket(second) <= second for second in (0.0, 0.4, 63.9, 1000.0))
    assert timeline.bucket(5.9) == 5.0


def test_growth_counts_what_is_distinct_and_sightings_add_up(tmp_path: Path) -> None:
    with Store.create(tmp_path / "c", META) as store:
        store.record_shard(shard(0, hit("boom", 1, 2)), 1.2)
        store.record_shard(shard(1, hit("boom", 1), hit("bang", 2)), 1.9)
        store.record_shard(shard(2, hit("boom", 1, 4)), 50.0)
        told = store.timeline()
    assert [(p.at, p.examples, p.modules, p.findings) for p in told.growth] == [(1.0, 128, 16, 2), (50.0, 192, 24, 2)]
    assert (told.growth[0].operators, told.growth[0].pairs, told.growth[0].rewrites) == (2, 2, 1)
    boom = hit("boom", 0).signature.id
    assert told.sightings[boom] == ((1.0, 3), (50.0, 4))


def test_time_adds_up_by_step_and_pass(tmp_path: Path) -> None:
    first = shard(0)
    first.spent = {("crash", "FuseOps"): 0.5, ("draw", ""): 0.25}
    with Store.create(tmp_path / "c", META) as store:
        store.record_shard(first, 1.0)
        store.spend({("crash", "FuseOps"): 1.0, ("triage", ""): 3.0})
        spent = store.timeline().spent
    assert spent == {("crash", "FuseOps"): 1.5, ("draw", ""): 0.25, ("triage", ""): 3.0}


def test_a_stopwatch_takes_each_step_and_tells_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((10.0, 11.0, 13.5, 13.75, 20.0, 21.0, 21.5))
    monkeypatch.setattr("fuzzer.shard.shard.time", SimpleNamespace(monotonic=lambda: next(clock)))
    told: list[str] = []
    watch = Stopwatch(told.append)
    watch.begin("draw: the generator")
    watch.begin("crash: FuseOps")
    watch.begin("run original main: FuseOps")
    assert watch.take() == (("crash", 2.5), ("draw", 1.0), ("numeric", 0.25))
    assert watch.take() == ()
    watch.begin("crash: A")
    assert watch.take() == (("crash", 0.5),)
    assert told == ["draw: the generator", "crash: FuseOps", "run original main: FuseOps", "crash: A"]


@pytest.mark.parametrize(
    ("stage", "step"),
    [
        ("well-formed: FuseOps", "well-formed"),
        ("prepare: LegalizeOps", "prepare"),
        ("numeric run main bytecode: FuseOps", "numeric"),
        ("build original: FuseOps", "numeric"),
    ],
)
def test_steps(stage: str, step: str) -> None:
    assert step_of(stage) == step
