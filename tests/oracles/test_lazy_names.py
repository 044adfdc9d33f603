"""The package's names: loaded on first use, the same whatever was imported before."""

from __future__ import annotations

import subprocess
import sys

import pytest

import oracles


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_package_and_its_records_load_without_tvm() -> None:
    said = python(
        "import oracles, oracles.core.verdict, relaxkit.passes.pass_ref, sys; print('tvm' in sys.modules, dir(oracles))"
    )
    assert said.startswith("False ")
    assert "'check'" in said


IMPORTS = (
    "import oracles",
    "import oracles.check",
    "import oracles.judge, oracles.check",
    "import oracles.check, oracles.judge; import oracles",
    "from oracles.check import OracleFailure",
    "from oracles import judge; import oracles.check; import oracles",
    "from oracles import check; import oracles.judge; import oracles",
    "import importlib; importlib.import_module('oracles.check'); import oracles",
)
FORKS = """
import os, sys
import tvm  # what takes the time, once

for imports in {imports}:
    child = os.fork()
    if not child:
        exec(imports)
        oracles = sys.modules["oracles"]
        from oracles import check, judge
        assert oracles.check is check is sys.modules["oracles.check"].check
        assert oracles.judge is judge is sys.modules["oracles.judge"].judge
        print(type(check).__name__, type(judge).__name__)
        break
    assert os.waitpid(child, 0)[1] == 0, imports
"""


def test_check_and_judge_are_functions_after_any_import() -> None:
    said = python(FORKS.format(imports=IMPORTS))
    assert said.splitlines() == ["function function"] * len(IMPORTS)


def test_every_public_name_is_there() -> None:
    for name in oracles.__all__:
        value = getattr(oracles, name)
        assert name == "CONTRACTS" or value.__name__ == name
    assert "FuseOps" in oracles.CONTRACTS
    with pytest.raises(AttributeError, match="no attribute 'chek'"):
        getattr(oracles, "chek")  # noqa: B009  # mypy sees that it is not there
