"""Figures that must not be lost are compared with what benchmarks print, and are kept: ``benchmarks/floors.toml``."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "benchmarks"))


def floors() -> Any:
    spec = importlib.util.spec_from_file_location("floors", ROOT / "benchmarks/floors.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FLOORS = floors()
PRINTS = (
    "import sys\nprint('{\"modules\": 10, \"reached\": {\"op\": 7}}' if sys.argv[1:] == ['--small', '--json'] else 0)"
)


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ({"least": {"modules": 10, "reached.op": 7}, "most": {"modules": 10}}, [True, True, True]),
        ({"least": {"modules": 11, "reached.op": 7.5}}, [False, False]),
        ({"most": {"reached.op": 6}}, [False]),
        ({"least": {"reached.ir": 0, "modules.op": 0}}, [False, False]),
    ],
)
def test_a_figure_below_its_floor_or_missing_is_told(
    tmp_path: Path, limits: dict[str, dict[str, float]], kept: list[bool]
) -> None:
    (tmp_path / "printed.py").write_text(PRINTS)
    row = {"command": "printed.py --small", **limits}
    assert [keeps for *_, keeps in FLOORS.compared(row, FLOORS.measured(row, tmp_path))] == kept


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOORS.rows())
def test_benchmarks_reach_what_they_once_reached(name: str) -> None:
    command = [sys.executable, str(ROOT / "benchmarks/floors.py"), name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
