"""The growth benchmark: its statistics against worked examples, and that it runs."""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def ranks() -> Any:
    spec = importlib.util.spec_from_file_location("ranks", ROOT / "benchmarks" / "shared" / "ranks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("left", "right", "p", "effect"),
    [
        # Of 252 ways to deal ten values out, two are as far apart as these.
        ([6, 7, 8, 9, 10], [1, 2, 3, 4, 5], 2 / 252, 1.0),
        ([1, 2, 3], [4, 5, 6], 2 / 20, 0.0),
        ([1, 1, 1], [1, 1, 1], 1.0, 0.5),
        # Ways: {1,2} {1,3} {1,4} {2,3} {2,4} {3,4}; U of {1,4} is the middle.
        ([1, 4], [2, 3], 1.0, 0.5),
        # Ties: the four values 1 2 2 3 give U of {2,3} = 3.5 of 4; as far are {1,2} twice and {2,3} twice.
        ([2, 3], [1, 2], 4 / 6, 0.875),
    ],
)
def test_small_samples_are_counted_out(
    ranks: Any, left: list[float], right: list[float], p: float, effect: float
) -> None:
    assert ranks.mann_whitney(left, right) == pytest.approx(p)
    assert ranks.mann_whitney(right, left) == pytest.approx(p)
    assert ranks.a12(left, right) == pytest.approx(effect)
    assert ranks.a12(right, left) == pytest.approx(1 - effect)


def test_the_approximation_is_near_the_count(ranks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source = random.Random(4)
    left, right = ([source.gauss(mean, 1) for _ in range(9)] for mean in (0.0, 0.9))
    exact = ranks.mann_whitney(left, right)
    monkeypatch.setattr(ranks, "MOST_EXACT", 0)
    assert ranks.mann_whitney(left, right) == pytest.approx(exact, abs=0.02)
    assert ranks.mann_whitney([1.0] * 30, [1.0] * 30) == 1.0


@pytest.mark.slow
def test_a_short_run_is_compared_with_another(tmp_path: Path) -> None:
    command = [
        sys.executable, str(ROOT / "benchmarks" / "growth.py"), "--seconds", "8", "--seeds", "2", "--json",
        "--passes", "Normalize,DeadCodeElimination,CanonicalizeBindings", "--oracles", "crash",
    ]  # fmt: skip
    before = tmp_path / "before.json"
    before.write_text(subprocess.run(command, capture_output=True, text=True, timeout=500, check=True).stdout)
    done = subprocess.run([*command, "--against", str(before)], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["curves"]) == len(json.loads(before.read_text())["curves"]) == 2
    last = found["curves"][0][-1]
    assert last["seconds"] == pytest.approx(8)
    assert last["pairs"] > 10
    for curve in found["curves"]:
        assert [point["pairs"] for point in curve] == sorted(point["pairs"] for point in curve)
    assert {row["measure"] for row in found["rows"]} >= {"pairs", "operands", "rewrites", "findings"}
    assert all(0 <= row["p"] <= 1 and 0 <= row["a12"] <= 1 for row in found["rows"])
