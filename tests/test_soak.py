"""The soak benchmark, far too short to say anything of speed: bounds on memory and disk, and nothing left behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).resolve().parents[1] / "benchmarks" / "soak.py"


@pytest.mark.slow
def test_a_short_soak_stays_within_its_bounds() -> None:
    command = [sys.executable, str(BENCHMARK), "--time", "8s", "--window", "2s", "--workers", "1", "--cheap", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["cases"] > 0
    assert found["cases_per_second"]
    assert found["processes_left"] == []
    assert found["files_left"] == []
    assert found["rss_mib"]["coordinator"] < 600
    assert found["rss_mib"]["worker"] < 1300, "a worker is replaced when it has grown beyond RECYCLE_RSS"
    assert found["database_bytes"] < 2 << 20, "counts, not cases"
    assert 0 < found["coordinator_microseconds_per_case"] < 20_000
