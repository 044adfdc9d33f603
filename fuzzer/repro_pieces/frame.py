"""What every script contains: loading the module, running passes, reporting."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import relax


def load_script(text: str) -> Any:
    """The module from TVMScript."""
    return tvm.script.from_source(text)


def load_json(text: str) -> Any:
    """The module from TVM's JSON (bound to one TVM release)."""
    return tvm.ir.load_json(text)


def run_passes(passes: list[Any], module: Any) -> Any:
    """Apply passes one after the other, under the same target as a build for the CPU."""
    for item in passes:
        with tvm.target.Target("llvm"):
            module = item(module)
    return module


def equal(left: Any, right: Any) -> bool:
    """Structural equality of two modules."""
    return bool(tvm_ffi.structural_equal(left, right))


def complaint(module: Any) -> str:
    """What TVM's checker says against the module; empty when it is well formed."""
    try:
        relax.analysis.well_formed(module)
    except Exception as error:
        return str(error)
    return ""


def first_line(text: object) -> str:
    """The first line that says something, shortened."""
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return (lines[0] if lines else "")[:300]


def expected_error(error: BaseException, name: str, fragments: list[str]) -> bool:
    """Whether an exception is the one of the defect: its type, and distinctive parts of its message."""
    return type(error).__name__ == name and all(item in str(error) for item in fragments)


def in_child(kind: str, seconds: float) -> tuple[str, str]:
    """Run the risky part in a child process and judge how it ended: ``kind`` is the expected death.

    Exit codes belong to the passes, which may end the process by any of them: the child says in a line of its own
    how it ended (see ``child``), and without that line it died.
    """
    command = [sys.executable, os.path.abspath(__file__), "--child"]
    try:
        # The child ends itself after the time limit; this one is for a system on which it cannot, and for loading TVM.
        child = subprocess.run(command, capture_output=True, timeout=max(seconds + 20, 100), check=False)
        code, output = child.returncode, child.stdout
    except subprocess.TimeoutExpired as error:
        code, output = None, error.stdout or b""
    lines = output.decode(errors="replace").splitlines()
    said = [line for line in lines if line.startswith(("CHILD ", "ENVIRONMENT: "))]
    how, _, text = said[-1].removeprefix("CHILD ").partition(": ") if said else ("", "", "")
    if how == "ENVIRONMENT":
        return how, text
    if how == "ended":
        return "OK", "the child process ends normally"
    if how == "raised":
        return "DIFFERENT", f"an exception instead: {text}"
    if not how and (code is None or code >= 0):
        return "ENVIRONMENT", "the child process did not come to the check"
    alarm = getattr(signal, "SIGALRM", None)
    if how == "memory":
        seen = "memory"
    elif code is None or (alarm is not None and code == -alarm):
        seen = "hang"
    else:
        seen = f"signal {-code}" if code < 0 else f"exit {code}"
    if seen == kind:
        words = {"hang": f"no end within {seconds:g} s", "memory": "memory exhausted"}
        return "BUG", words.get(seen, f"killed by {seen}" if seen.startswith("signal") else f"ended itself by {seen}")
    return "DIFFERENT", f"expected {kind}, the child process ended with {seen}"


def child(body: Callable[[], tuple[str, str]], seconds: float, megabytes: int) -> int:
    """The risky part, then a line on how it ended, written past all buffers: memory may be short."""
    try:
        if megabytes:
            import resource

            with open("/proc/self/statm", encoding="ascii") as statm:
                mapped = int(statm.read().split()[0]) * resource.getpagesize()
            limit = mapped + (megabytes << 20)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, seconds)  # kills, also in the midst of C++ code
        os.write(1, b"\nCHILD begins: \n")
        outcome, text = body()
        said = f"{outcome}: {text}" if outcome == "ENVIRONMENT" else "CHILD ended: "
    except MemoryError:
        os.write(1, b"\nCHILD memory: \n")
        return 0
    except (Exception, SystemExit) as error:
        how = "memory" if "bad_alloc" in str(error) else "raised"
        said = f"CHILD {how}: {type(error).__name__}: {first_line(error)}"
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    os.write(1, f"\n{said}\n".encode(errors="replace"))
    return 0


def report(outcome: str, text: str) -> int:
    """Print one line; 1 when the defect is there, 0 when not, 2 when the environment does not fit."""
    print(f"{outcome}: {text}")
    return {"BUG": 1, "ENVIRONMENT": 2}.get(outcome, 0)
