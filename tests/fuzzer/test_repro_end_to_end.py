"""All modes of one script, each in a fresh process as a user calls it: run, query, minimize, and what is no mode."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from unmerged import UNMERGED

from fuzzer.repro.run import check_repro
from fuzzer.triage.reduce import case_of_file, failures
from fuzzer.triage.script import repro_script
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef


def asked(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The script as a user calls it, by the Python of the environment, which need not be active."""
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=1200, check=False, env={"PATH": "/usr/bin:/bin"}
    )


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script of an error."""
    folder = tmp_path_factory.mktemp("modes")
    (folder / "given.py").write_text(UNMERGED)
    case = case_of_file(
        folder / "given.py", (PassRef("MergeCompositeFunctions", "relax.transform.MergeCompositeFunctions()"),)
    )
    (verdict,) = failures(case, OracleName.CRASH)
    path = folder / "repro.py"
    path.write_text(repro_script(case, verdict).text)
    return path


@pytest.mark.slow
def test_a_script_runs_answers_and_makes_its_module_smaller(script: Path) -> None:
    given = script.with_name("given.py")
    assert check_repro(script).confirmed
    assert asked(script, "query", str(given)).returncode == 0

    command = ["-m", "relaxfuzz", "minimize", "--module", str(script), "--predicate", f"{script}:shows"]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "3 bindings became 1" in done.stderr
    smaller = script.with_name("smaller.py")
    smaller.write_text(done.stdout)
    answer = asked(script, "query", str(smaller))
    assert (answer.returncode, answer.stdout.split(": ")[0]) == (0, "BUG"), "the script's own defect"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(("query", "absent.py"), "the module cannot be read"), (("reduce",), "'reduce' is not one of the modes")],
)
def test_what_cannot_be_done_is_one_line(arguments: tuple[str, ...], says: str, script: Path) -> None:
    done = asked(script, *arguments)
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.startswith("ENVIRONMENT: ")
    assert says in done.stdout
    assert done.stdout.count("\n") == 1
