"""C-Vise on the cases of ``benchmarks/reduction.py``, with the module as text and its passes for any language.

C-Vise starts a process for each question.  Importing TVM in each would cost seconds, so that process only asks a server
in this one, which judges in isolated workers, as our own minimizer does.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fuzzer.minimizer.judge.criterion import OracleCriterion
from fuzzer.minimizer.judge.pool import JudgePool
from fuzzer.triage.reduce import failures, read_request, script_request
from fuzzer.worker.worker import IsolatedWorker
from reducing.cases import Specimen

ASK = """#!{python} -S
import os, socket, sys
asked = socket.socket(socket.AF_UNIX)
asked.connect({address!r})
asked.sendall(os.path.abspath("module.py").encode())
asked.shutdown(socket.SHUT_WR)
sys.exit(0 if asked.recv(1) == b"1" else 1)
"""


@dataclass(frozen=True, slots=True)
class Rival:
    """What C-Vise came to.

    Attributes:
        bindings: Bindings of the module that it left; those of the given one when it left no module.
        lines: Lines of its text.
        seconds: Wall time.
        queries: Questions that it asked.
    """

    bindings: int
    lines: int
    seconds: float
    queries: int


def cvise_version() -> str | None:
    """Its version; ``None`` where it is not installed."""
    if shutil.which("cvise") is None:
        return None
    done = subprocess.run(["cvise", "--version"], capture_output=True, text=True, check=False)
    return (done.stdout.split() or ["?"])[-1]


def cvise(specimen: Specimen, workers: int, seconds: float) -> Rival | None:
    """Let C-Vise reduce a case; ``None`` when its text does not show the failure."""
    verdict = failures(specimen.case, specimen.oracle)[0]
    criterion = OracleCriterion(verdict)
    with (
        JudgePool(criterion.new_judge, workers) as judges,
        IsolatedWorker() as worker,
        tempfile.TemporaryDirectory(prefix="relaxfuzz-cvise-") as name,
    ):
        folder = Path(name)
        judge = criterion.judge(worker)
        text = judge.ask(script_request, specimen.case.module_json)
        module = folder / "module.py"
        module.write_text(text if isinstance(text, str) else "")
        asked = 0

        def shows(path: str) -> bool:
            nonlocal asked
            asked += 1
            with judges.judge() as judge:
                answer = judge.ask(read_request, path)
            if not isinstance(answer, str):
                return False
            return any(item.id == criterion.id for item in judges.failures(replace(specimen.case, module_json=answer)))

        if not shows(str(module)):
            return None
        asked = 0
        with _server(folder / "socket", shows):
            test = folder / "test.py"
            test.write_text(ASK.format(python=sys.executable, address=str(folder / "socket")))
            test.chmod(0o755)
            began = time.perf_counter()
            command = ["cvise", "--not-c", "--n", str(workers), "--no-timing", str(test), "module.py"]
            process = subprocess.Popen(
                command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
            )
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                pass
            finally:  # its workers, too, which it leaves behind when it is ended alone
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            spent = time.perf_counter() - began
        left = judge.ask(read_request, str(module))
        facts = judge.facts(replace(specimen.case, module_json=left)) if isinstance(left, str) else None
        lines = len(module.read_text().splitlines())
        return Rival(specimen.bindings if facts is None else facts.bindings, lines, spent, asked)


@contextlib.contextmanager
def _server(address: Path, shows: Any) -> Iterator[None]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            path = b""
            while part := self.request.recv(4096):
                path += part
            with contextlib.suppress(OSError):
                self.request.sendall(b"1" if shows(path.decode()) else b"0")

    class Server(socketserver.ThreadingUnixStreamServer):
        daemon_threads = True

    server = Server(str(address), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
