"""Run scripts for TVM in copies of a process that has loaded TVM, instead of loading it for each.

`tests/fuzzer/test_repro_end_to_end.py` runs scripts in new processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fuzzer.repro.pristine import run_copy
from relaxkit.passes.plugins import VARIABLE

# A campaign that a test runs in this process sets TMPDIR for good (`session_files.claim`).
_VOLATILE = {"PYTEST_CURRENT_TEST", "PYTHONDONTWRITEBYTECODE", "TMPDIR", "TVM_NUM_THREADS", "OMP_NUM_THREADS"}


def _lasting(env: Mapping[str, str]) -> dict[str, str]:
    """Return what a script may notice of an environment; a campaign without plugins leaves an empty list of them."""
    return {name: value for name, value in env.items() if name not in _VOLATILE and (value or name != VARIABLE)}


_AT_START = _lasting(os.environ)


_WITH_ARGUMENTS = """
import runpy
import sys

sys.argv = {argv!r}
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run_test_copy(path: Path, folder: Path, seconds: float, purpose: str) -> tuple[int | None, str, str]:
    """As `run_copy`, in copies of one process for all campaigns."""
    return run_copy(path, folder, seconds, "tests")


class WarmScripts:
    """Takes the place of the module `subprocess` where scripts are run."""

    TimeoutExpired = subprocess.TimeoutExpired

    def run(self, command: list[str], *, timeout: float, env: Mapping[str, str], cwd: Path, **others: Any) -> Any:
        """As `subprocess.run`, for a script and the interpreter of this process."""
        path = Path(command[1])
        if command[0] != sys.executable or path.suffix != ".py" or _lasting(env) != _AT_START:
            return subprocess.run(command, timeout=timeout, env=env, cwd=cwd, **others)
        with tempfile.TemporaryDirectory() as folder:
            if command[2:]:
                path = path.with_name(f"with_arguments_{path.name}")
                path.write_text(_WITH_ARGUMENTS.format(argv=command[1:]), encoding="utf-8")
            code, said, complained = run_copy(path, Path(folder), timeout, "tests")
        if code is None:
            raise subprocess.TimeoutExpired(command, timeout, said, complained)
        return subprocess.CompletedProcess(command, code, said, complained)
