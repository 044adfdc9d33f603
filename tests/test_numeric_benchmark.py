"""The numeric benchmark goes on behind what ends a process, says what it was, and goes on where it was interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import benchmark_victims
import numeric
import pytest
from numeric_pairs import OPTIMISED, Chunk, Measured

from fuzzer.worker.worker import IsolatedWorker


@pytest.fixture
def worker() -> Iterator[IsolatedWorker]:
    with IsolatedWorker(time_limit=60.0) as started:
        yield started


def test_what_ends_a_process_is_left_out_and_named(worker: IsolatedWorker, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "before").touch()
    measured, died = numeric.survived(worker, benchmark_victims.dies_of_two, Chunk(7, 5, str(cache)))
    assert measured.count == 3
    assert died == [
        "seed 7 module 1 SomePass: warm: signal 11 (SIGSEGV)",
        "seed 7 module 3 SomePass: warm: signal 11 (SIGSEGV)",
    ]
    names = sorted(path.name.rpartition("-")[0] or path.name for path in cache.iterdir())
    assert names == ["7-0", "7-2", "7-4", "before"], "the cache is as if the dead processes had not been"


def test_a_process_that_dies_of_no_module_ends_the_benchmark(worker: IsolatedWorker, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    with pytest.raises(RuntimeError, match="nothing in particular"):
        numeric.survived(worker, benchmark_victims.dies_at_once, Chunk(7, 5, str(cache)))


def test_an_interrupted_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def survived(_worker: Any, part: str, chunk: Chunk) -> tuple[Measured, list[str]]:
        asked.append((part, chunk.seed))
        return Measured(chunk.count, {part: 1.0}, counts={"groups": 1}), ["x"] if chunk.seed == 2001 else []

    monkeypatch.setattr(numeric, "PARTS", {name: name for name in numeric.PARTS})
    monkeypatch.setattr(numeric, "survived", survived)
    rows = numeric.measure(8, 2, 4, tmp_path)
    assert asked == [("pairs", 2000), ("pairs", 2001), ("shared", 2000), ("interpreter", 2000), ("interpreter", 2001),
                     ("judged", 2000)]  # fmt: skip
    assert [row.measured.count for row in rows if row.part == "judged"] == [1]
    asked.clear()
    again = numeric.measure(12, 2, 4, tmp_path)
    assert asked == [("pairs", 2002), ("shared", 2001), ("interpreter", 2002)]
    assert numeric.summed(again, "pairs").count == 12
    assert [text for row in again for text in row.died] == ["x", "x", "x"]


def rows_of(differ: list[str]) -> list[Any]:
    seconds = {"plain": 8.0, "cold": 1.0, "disk": 0.5, "warm": 0.2, "compiled": 0.1}
    counts = {"kernels_compiled": 3}
    pairs = Measured(2, seconds, {"warm lower": 0.1, "cold lower": 0.4}, differ, {"changes nothing": 1}, counts)
    shared = Measured(4, {"shared": 0.1, "shared plain": 8.0}, skipped={"changes nothing": 2}, counts={"groups": 2})
    interpreter = Measured(3, {"interpreter": 0.001}, counts={"interpreted": 2})
    judged = Measured(10, {"judged": 2.0}, counts={"decided": 4})
    parts = {"pairs": pairs, "shared": shared, "interpreter": interpreter, "judged": judged}
    return [numeric.Row(name, seed, each, []) for name, each in parts.items() for seed in (0, 1)]


def test_what_is_printed() -> None:
    told = numeric.report(rows_of([]))
    assert (told["modules"], told["cold_ratio"], told["disk_ratio"], told["warm_ratio"]) == (4, 8.0, 16.0, 40.0)
    assert (told["plain_ms"], told["shared_ratio"], told["passes_an_original"]) == (4000.0, 80.0, 2.0)
    assert (told["interpreter_modules_per_second"], told["interpreter_share"]) == (2000.0, 0.667)
    assert told["warm_stages_ms"] == {"lower": 50.0}
    assert told["skipped"] == {"changes nothing": 6}
    assert told["bit_identical"]


@pytest.mark.parametrize(("differ", "explained"), [(f"seed 1 module 2 P: warm{OPTIMISED}", True), ("seed 1", False)])
def test_differences_of_llvm_are_told_from_ours(differ: str, explained: bool) -> None:
    told = numeric.report(rows_of([differ]))
    assert not told["bit_identical"]
    assert told["bit_identical_but_for_llvm_optimisations"] is explained


def test_too_few_modules_give_no_rates() -> None:
    told = numeric.report([])
    assert (told["modules"], told["cold_ratio"], told["numeric_per_second_per_core"]) == (0, None, 0.0)
