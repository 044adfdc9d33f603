"""Standalone repro scripts: only TVM and NumPy are needed to run one.

A script ends with 0 when the defect is gone, and with another code while it is there (docs/repro-scripts.md).  A long
one ends with 1 and one line ``BUG: ...`` when the defect is there, with 0 when it is gone (``OK: ...``) or something
else happens (``DIFFERENT: ...``), and with 2 when the environment does not fit (``ENVIRONMENT: ...``).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fuzzer.findings.script_parts import Ending
from relaxkit.files import resolved

CHECK_SECONDS = 120.0
SCRATCH = "relaxfuzz_repro.py"
"""The file that a script's text is run from."""
_MOST_SAID = 9
"""Lines of an error without a message of its own: NumPy tells the values in them."""
_OUTCOMES = ("BUG: ", "OK: ", "DIFFERENT: ", "ENVIRONMENT: ")


@dataclass(frozen=True, slots=True)
class ReproResult:
    """Outcome of running a script: its exit code (``None`` after the time limit) and what it printed.

    Attributes:
        exit_code: The exit code; negative for a signal.
        output: What it printed, and with an exit code that no long script has, what it wrote on standard error.
        errors: What it wrote on standard error.
        ending: How a short script ends while the defect is there; ``None`` of a long one.
    """

    exit_code: int | None
    output: str
    errors: str = ""
    ending: Ending | None = None

    @property
    def confirmed(self) -> bool:
        """Say whether the script shows the defect."""
        if self.ending is not None:
            return self.ending.fits(self.exit_code, self.errors)
        return self.exit_code == 1 and any(line.startswith("BUG: ") for line in self.output.splitlines())

    @property
    def said(self) -> str:
        """The line with the outcome, else the last line; of a short script, that it shows the defect or does not."""
        if self.ending is not None:
            return self._judged
        lines = [line for line in self.output.splitlines() if line.strip()]
        outcomes = [line for line in lines if line.startswith(_OUTCOMES)]
        return (outcomes or lines or ["nothing"])[-1]

    @property
    def raised(self) -> str:
        """The line of the error that a short script is to end by; empty where there is none."""
        error, lines = "" if self.ending is None else self.ending.error, self.errors.splitlines()
        told = [line for line in lines if error and line[:1] != " " and error in line.partition(":")[0]]
        return told[-1] if told else ""

    @property
    def _judged(self) -> str:
        """The outcome of a short script in the words of a long one, with what it was ended by."""
        told = self.raised or ([line for line in self.errors.splitlines() if line[:1] not in ("", " ")] or [""])[-1]
        if self.exit_code == 0:
            return "OK: the script exits with 0"
        if self.exit_code is not None and self.exit_code < 0:
            how = f"the script is killed by {signal.Signals(-self.exit_code).name}"
        elif not told:
            how = f"the script exits with {self.exit_code}"
        else:
            before, _, behind = self.errors.rpartition(told)
            more = [line.strip() for line in behind.splitlines() if line.strip()][:_MOST_SAID]
            if not more:  # of a bare assertion, its line says which values
                more = [line.strip() for line in before.splitlines() if line.strip(" ^~")][-1:]
            kind = "" if self.ending is None else self.ending.error
            how = told if told.rstrip(": ") != kind else f"{kind}: {'; '.join(more)}"
        return f"BUG: {how}" if self.confirmed else f"ENVIRONMENT: this differs from the finding: {how}"


def check_repro(
    path: Path,
    timeout: float = CHECK_SECONDS,
    *,
    python: str | Path = sys.executable,
    environment: Mapping[str, str] | None = None,
    ending: Ending | None = None,
) -> ReproResult:
    """Run a script in a fresh process.

    Args:
        path: The script.
        timeout: Time limit in seconds.
        python: The interpreter; without it that of this process.
        environment: Variables to run it with; without them those of this process.
        ending: How it ends while the defect is there, where it is a short script.
    """
    path = resolved(path)  # it runs in its own directory
    command = [str(python), str(path)]
    environment = {**(os.environ if environment is None else environment), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, errors="replace", timeout=timeout, env=environment, cwd=path.parent
        )
    except subprocess.TimeoutExpired as error:
        said = error.stdout or ""
        return ReproResult(None, said.decode(errors="replace") if isinstance(said, bytes) else said)
    return result_of(done.returncode, done.stdout, done.stderr, ending)


def result_of(code: int | None, output: str, errors: str, ending: Ending | None) -> ReproResult:
    """Return the outcome of a script that ended with ``code`` and printed ``output`` and ``errors``."""
    if code is None:
        return ReproResult(None, output)
    return ReproResult(code, output if code in (0, 1, 2) and ending is None else output + errors, errors, ending)


def check_text(text: str, ending: Ending | None = None, place: Path | None = None) -> ReproResult:
    """Run the text of a script, as :func:`check_repro`, in a directory of its own, in ``place`` or a temporary one.

    There it imports nothing that somebody has put beside the scripts of a campaign.
    """
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-", dir=place) as scratch:
        path = Path(scratch) / SCRATCH
        path.write_text(text, encoding="utf-8")
        return check_repro(path, ending=ending)
