"""The rooms import one way, from ``reports`` down to ``relaxkit``, as ``docs/architecture.md`` draws them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINT = Path(sys.executable).parent / "lint-imports"


def test_imports_respect_the_layers() -> None:
    done = subprocess.run([str(LINT)], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "KEPT" in done.stdout


def test_an_upward_import_is_noticed(tmp_path: Path) -> None:
    """The first contract of ``pyproject.toml``, on a toy copy of the packages in which one imports upward."""
    for room in ("relaxkit", "strategies", "oracles", "fuzzer", "reports", "corpus", "relaxfuzz"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text("import fuzzer\n" if room == "oracles" else "")
    before, separator, contracts = (ROOT / "pyproject.toml").read_text().partition("[[tool.importlinter.contracts]]")
    first = contracts.split(separator)[0]
    (tmp_path / "pyproject.toml").write_text(before + separator + first)
    command = [
        sys.executable,
        "-c",
        "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports_command as c; c()",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert "oracles is not allowed to import fuzzer" in done.stdout
