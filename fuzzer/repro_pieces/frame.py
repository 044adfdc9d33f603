"""What every script contains: loading the module, running passes, reporting."""

from __future__ import annotations

import os
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
    """Run the risky part in a child process and judge how it ended: ``kind`` is the expected death."""
    command = [sys.executable, os.path.abspath(__file__), "--child"]
    try:
        child = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        seen = "hang"
    else:
        if child.returncode == 2:
            return "ENVIRONMENT", first_line(child.stdout)
        if child.returncode == 0:
            return "OK", "the child process ends normally"
        if child.returncode == 3:
            return "DIFFERENT", "an exception instead: " + first_line(child.stdout)
        seen = "memory" if child.returncode == 4 else f"signal {-child.returncode}"
    if seen == kind:
        return "BUG", {"hang": f"no end within {seconds:g} s", "memory": "memory exhausted"}.get(
            seen, "killed by " + seen
        )
    return "DIFFERENT", f"expected {kind}, the child process ended with {seen}"


def child(body: Callable[[], Any], megabytes: int) -> int:
    """The risky part: 0 when it ends normally, 3 after an exception, 4 when memory ran out."""
    try:
        if megabytes:
            import resource

            with open("/proc/self/statm", encoding="ascii") as statm:
                mapped = int(statm.read().split()[0]) * resource.getpagesize()
            limit = mapped + (megabytes << 20)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        body()
    except MemoryError:
        return 4
    except Exception as error:
        print(f"{type(error).__name__}: {first_line(error)}")
        return 4 if "bad_alloc" in str(error) else 3
    return 0


def report(outcome: str, text: str) -> int:
    """Print one line; 1 when the defect is there, 0 when not, 2 when the environment does not fit."""
    print(f"{outcome}: {text}")
    return {"BUG": 1, "ENVIRONMENT": 2}.get(outcome, 0)
