"""A Dask cluster for tests: a scheduler and workers, processes of `dask scheduler` and `dask worker`."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

import psutil

_DASK = Path(sys.executable).parent / "dask"


class Cluster:
    """Starts with the scheduler alone; workers come and go as tests ask. Leaves no process behind."""

    def __init__(self, folder: Path, host: str = "127.0.0.1", scheme: str = "tcp", **environment: str) -> None:
        self.folder = folder
        self.host = host
        self.environment = {**os.environ, **environment}
        with socket.socket() as probe:
            probe.bind((host, 0))
            self.port = int(probe.getsockname()[1])
        self.address = f"{scheme}://{host}:{self.port}"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start_scheduler()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in (*self.workers, self.scheduler):
            end(process)

    def restart_scheduler(self, after: float) -> None:
        """Kill the scheduler and start another one at its address."""
        end(self.scheduler)
        time.sleep(after)
        self.scheduler = self._start_scheduler()

    def add_worker(self, prefix: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        """One more worker, with a nanny as Dask starts them by default; ``prefix`` puts it onto another host."""
        arguments = ("--nthreads", "1", "--no-dashboard", "--memory-limit", "0", "--local-directory", str(self.folder))
        command = (*prefix, str(_DASK), "worker", self.address, *arguments)
        self.workers.append(self._start(f"worker-{len(self.workers)}", command))
        return self.workers[-1]

    def _start_scheduler(self) -> subprocess.Popen[bytes]:
        place = ("--host", self.address.rpartition(":")[0], "--port", str(self.port), "--no-dashboard", "--no-show")
        process = self._start("scheduler", (str(_DASK), "scheduler", *place))
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection((self.host, self.port), timeout=1):
                return process
            time.sleep(0.1)
        raise AssertionError("the scheduler did not start")

    def _start(self, name: str, command: tuple[str, ...]) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )


def tree(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """A process and all that it has started, and what these have started."""
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(process.pid)
        return [root, *root.children(recursive=True)]
    return []


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with all that it has started, as the loss of a machine would."""
    for each in tree(process):
        with contextlib.suppress(psutil.NoSuchProcess):
            each.send_signal(signal.SIGKILL)
    process.wait()
