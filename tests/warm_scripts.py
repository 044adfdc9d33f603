"""Run scripts for TVM in forks of one process that has loaded TVM, instead of loading it for each.

A script sees what it would see in a process of its own: ``__main__``, its directory first on the path, its own standard
streams, its own end.  `tests/fuzzer/test_repro_end_to_end.py` runs scripts in new processes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_VOLATILE = {"PYTEST_CURRENT_TEST", "PYTHONDONTWRITEBYTECODE"}

SERVER = """
import gc, inspect, json, os, signal, sys, time, traceback, types
import numpy, tvm, tvm.script, tvm.relax
from tvm.script import ir, relax, tirx

inspect.stack()  # finds the files of all modules once, where TVMScript's decorators would in each fork
gc.freeze()

def run(asked):
    os.setsid()
    os.chdir(asked["cwd"])
    for number, name in enumerate(("/dev/null", asked["out"], asked["errors"])):
        opened = os.open(name, os.O_RDWR)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv = asked["arguments"]
    path = sys.argv[0]
    sys.path[0] = os.path.dirname(path)
    sys.dont_write_bytecode = True
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__file__ = path
    code = 0
    try:
        with open(path, encoding="utf-8") as file:
            exec(compile(file.read(), path, "exec"), main.__dict__)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if not isinstance(end.code, (int, type(None))):
            print(end.code, file=sys.stderr)
    except BaseException as error:
        traceback.print_exception(type(error), error, error.__traceback__.tb_next)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 255)

for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if not child:
        run(asked)
    until = time.monotonic() + asked["seconds"]
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > until:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.005)
    print(json.dumps(os.waitstatus_to_exitcode(ended[1]) if ended[0] else None), flush=True)
"""


def _lasting(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in _VOLATILE}


class WarmScripts:
    """Takes the place of the module `subprocess` where scripts are run."""

    TimeoutExpired = subprocess.TimeoutExpired

    def __init__(self) -> None:
        self._environment: dict[str, str] = {}
        self._server: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()  # triage checks scripts in several threads

    def run(self, command: list[str], *, timeout: float, env: Mapping[str, str], cwd: Path, **others: Any) -> Any:
        """As `subprocess.run`, for a script and the interpreter of this process."""
        if command[0] != sys.executable or not command[1].endswith(".py") or _lasting(env) != _lasting(os.environ):
            return subprocess.run(command, timeout=timeout, env=env, cwd=cwd, **others)
        with self._lock:
            return self._run(command, timeout, env, cwd)

    def _run(self, command: list[str], timeout: float, env: Mapping[str, str], cwd: Path) -> Any:
        if self._environment != _lasting(env):  # the first isolated worker of a process sets the number of threads
            self.end()
        if self._server is None:
            self._environment = _lasting(env)
            self._server = subprocess.Popen(
                [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as errors:
            asked = {
                "arguments": command[1:],
                "cwd": str(cwd),
                "out": out.name,
                "errors": errors.name,
                "seconds": timeout,
            }
            self._server.stdin.write(json.dumps(asked) + "\n")
            self._server.stdin.flush()
            code = json.loads(self._server.stdout.readline())
            said, complained = out.read(), errors.read()
        if code is None:
            raise subprocess.TimeoutExpired(command, timeout, said, complained)
        return subprocess.CompletedProcess(command, code, said, complained)

    def end(self) -> None:
        """End the process."""
        if self._server is not None:
            assert self._server.stdin is not None
            self._server.stdin.close()
            self._server.wait(30)
            self._server = None
