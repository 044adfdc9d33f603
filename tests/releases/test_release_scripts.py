"""A script for an older release brings the names along, and needs nothing of ours to give them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuzzer import repro_render
from releases.adoption import needs_names
from releases.gaps import is_newest


def test_the_names_are_given_without_our_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repro_render, "needs_names", lambda: True)
    names = repro_render._names_of_release()
    path = tmp_path / "script.py"
    path.write_text(
        "\n".join(["from __future__ import annotations", *names.standard, *names.tvm, names.text])
        + "\nprint(relax.const(1.0, 'float32').value.numpy(), isinstance(tvm.sym.Analyzer(), tvm.sym.Analyzer),"
        "\n      'releases' in sys.modules, relax.TensorType([2], 'float32').ndim)\n"
    )
    done = subprocess.run([sys.executable, "-I", str(path)], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["1.0", "True", "False", "1"], done.stderr


def test_a_script_for_the_newest_release_is_not_burdened() -> None:
    assert needs_names() is not is_newest()
    if is_newest():
        assert repro_render._names_of_release().text == ""
