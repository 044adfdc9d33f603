"""`relaxfuzz --version`: every version that a bug report needs, without importing TVM."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from fuzzer.cli.main import main
from fuzzer.core import installed as module

_IMPORTS = """
import sys
from fuzzer.cli.main import main
main([sys.argv[1]])
dear = ("tvm", "tvm_ffi", "hypothesis", "numpy")
print([name for name in sys.modules if name.split(".")[0] in dear], file=sys.stderr)
"""


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_it_costs_no_import_of_tvm(option: str) -> None:
    done = subprocess.run([sys.executable, "-c", _IMPORTS, option], capture_output=True, text=True, timeout=60)
    assert done.stderr == "[]\n"
    assert "relaxfuzz" in done.stdout


def test_it_names_what_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-V"]) == 0
    told = dict(line.split(" ", 1) for line in capsys.readouterr().out.splitlines())
    for name in ("relaxfuzz", "apache-tvm", "apache-tvm-ffi", "apache-tvm-ffi-orcjit", "hypothesis", "numpy"):
        assert told[name] == importlib.metadata.version(name)
    assert told["Python"].startswith(".".join(map(str, sys.version_info[:3])))
    assert "Linux" in told["platform"]


def test_llvm_is_the_one_inside_tvm() -> None:
    """TVM says the major version only, and only when it is imported."""
    asked = "import tvm; print(tvm.get_global_func('target.llvm_version_major')())"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, timeout=60, check=True)
    assert module.llvm_version().split(".")[0] == done.stdout.strip()


def test_a_library_without_llvm_and_a_missing_package_are_said_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "tvm_home", lambda: tmp_path)
    for content in (b"", b"LLVM version unknown, LLVM version x"):
        (tmp_path / "libtvm.so").write_bytes(content)
        assert module.llvm_version() == "unknown"
    (tmp_path / "libtvm.so").write_bytes(b"LLVM version \0 LLVM version 19.1.7git\0")
    assert module.llvm_version() == "19.1.7git"
    monkeypatch.setattr(module, "tvm_home", lambda: None)
    assert module.llvm_version() == "unknown"
    assert module.version_or_missing("no-such-package") == "not installed"
    assert main(["--version", "run"]) == 2
    assert capsys.readouterr().err == "relaxfuzz: error: --version takes no arguments, but was given 'run'\n"
