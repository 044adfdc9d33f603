"""Run many scripts, each in a process that has loaded NumPy and TVM and nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from typing import IO, cast

from fuzzer.findings.script_parts import Ending
from fuzzer.repro.run import CHECK_SECONDS, SCRATCH, ReproResult, check_repro, result_of

_SERVER = Path(__file__).with_name("pristine_python.py")
_START_SECONDS = 120.0
_ONE_THREAD = {"TVM_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # as whoever starts isolated processes has
_lock = threading.Lock()
_idle: list[PristinePython] = []


def check_pristine(text: str, ending: Ending | None = None, place: Path | None = None) -> ReproResult:
    """Run the text of a script as ``fuzzer.repro.run.check_text`` does, in a twentieth of the time.

    The process is a copy of one that has loaded NumPy and TVM, which is kept for the next script of the same ``place``.
    """
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-", dir=place) as scratch:
        (path := Path(scratch).resolve() / SCRATCH).write_text(text, encoding="utf-8")
        try:
            return result_of(*run_copy(path, path.parent, CHECK_SECONDS, str(place or SCRATCH)), ending)
        except ConnectionError:
            return check_repro(path, ending=ending)


def run_copy(path: Path, folder: Path, seconds: float, purpose: str) -> tuple[int | None, str, str]:
    """Run a script; return its exit code, ``None`` when it had to be ended after so long, and what it printed.

    Args:
        path: The script.
        folder: Where what it prints is put.
        seconds: Time limit.
        purpose: An argument of the processes by which they are told from others (``WorkerPool.kill``).

    Raises:
        ConnectionError: The process that was to be copied was ended, or cannot load TVM.
    """
    with _lock:
        _idle[:] = [each for each in _idle if each.lives]
        python = next((each for each in _idle if each.purpose == purpose), None)
        if python is not None:
            _idle.remove(python)
    python = python or PristinePython(purpose)
    files = folder / "output.txt", folder / "errors.txt"
    code = python.run([str(path), *map(str, files)], seconds)
    _idle.append(python)
    output, errors = (file.read_text(encoding="utf-8", errors="replace") for file in files)
    return code, output, errors


class PristinePython:
    """A Python that runs ``pristine_python.py``, as long as this object lives.

    Attributes:
        purpose: An argument of it.
    """

    def __init__(self, purpose: str) -> None:
        self.purpose = purpose
        self._process = subprocess.Popen(
            [sys.executable, str(_SERVER), purpose],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**_ONE_THREAD, **os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            bufsize=0,  # an answer that waits in a buffer would not be selected
        )
        weakref.finalize(self, _end, self._process)

    @property
    def lives(self) -> bool:
        """Say whether it can run scripts."""
        return self._process.poll() is None

    def run(self, request: list[str], seconds: float) -> int | None:
        """Return the exit code of a script, ``None`` when it had to be ended after so long."""
        cast("IO[bytes]", self._process.stdin).write(f"{json.dumps(request)}\n".encode())
        if (number := self._answer(_START_SECONDS)) is None:
            raise ConnectionError
        if (code := self._answer(seconds)) is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(number, signal.SIGKILL)
            self._answer(_START_SECONDS)
        return code

    def _answer(self, seconds: float) -> int | None:
        answers = cast("IO[bytes]", self._process.stdout)
        if not select.select([answers], [], [], seconds)[0]:
            return None
        if not (line := answers.readline()):
            raise ConnectionError
        return int(line)


def _end(process: subprocess.Popen[bytes]) -> None:
    with process:
        process.kill()
