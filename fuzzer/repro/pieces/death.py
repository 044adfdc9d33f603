"""The process that dies, does not end, or eats all memory: a child process, under limits, judged by its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable

from fuzzer.repro.pieces.frame import first_line


def in_child(text: str, kind: str, seconds: float) -> tuple[str, str]:
    """Check a module in a child process, which is expected to end by ``kind``: a signal, an exit, a hang or memory.

    Exit codes belong to the passes, which may end the process by any of them: the child says in a line of its own
    how it ended (see ``child``), and when its last one says that it began, it died.
    """
    command = [sys.executable, os.path.abspath(__file__), "child"]
    try:
        # The child ends itself after the time limit; this one is for a system on which it cannot, and for loading TVM.
        done = subprocess.run(
            command,
            input=text,
            stdout=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=max(seconds + 20, 100),
            check=False,
        )
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as error:
        code, output = None, (error.stdout or b"").decode(errors="replace")
    said = [line.removeprefix("CHILD ") for line in output.splitlines() if line.startswith("CHILD ")]
    last = said[-1] if said else ""
    if last not in ("", "begins", "memory"):
        outcome, _, rest = last.partition(": ")
        return outcome, rest
    if not last and (code is None or code >= 0):
        return "ENVIRONMENT", "the child process did not come to the check"
    timers = [-getattr(signal, name) for name in ("SIGALRM", "SIGPROF") if hasattr(signal, name)]
    if last == "memory":
        seen, how = "memory", "memory exhausted"
    elif code is None or code in timers:
        seen, how = "hang", f"no end within {seconds:g} s"
    elif code < 0:
        seen, how = f"signal {-code}", f"killed by signal {-code}"
    else:
        seen, how = f"exit {code}", f"ended itself by exit {code}"
    return ("BUG", how) if seen == kind else ("DIFFERENT", f"expected {kind}, the child process ended with {seen}")


def child(begin: Callable[[], Callable[[], tuple[str, str]]], seconds: float, megabytes: int) -> int:
    """In the child process: prepare, set the limits (no limit of memory for 0), check, say how it ended.

    Lines are written past all buffers: memory may be short.
    """
    try:
        try:
            body = begin()
        except Exception as error:
            os.write(1, f"\nCHILD ENVIRONMENT: {type(error).__name__}: {first_line(error)}\n".encode(errors="replace"))
            return 0
        if megabytes:
            import resource

            with open("/proc/self/statm", encoding="ascii") as statm:
                mapped = int(statm.read().split()[0]) * resource.getpagesize()
            limit = mapped + (megabytes << 20)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        if hasattr(signal, "setitimer"):
            # They kill, also in the midst of C++ code. It is the processor's time that counts: the machine may be busy.
            # The clock's is for what waits without end.
            for number, timer, time in (
                (signal.SIGPROF, signal.ITIMER_PROF, seconds),
                (signal.SIGALRM, signal.ITIMER_REAL, max(seconds, min(3 * seconds, 80))),
            ):
                signal.signal(number, signal.SIG_DFL)
                signal.setitimer(timer, time)
        os.write(1, b"\nCHILD begins\n")
        outcome, text = body()
        said = f"{outcome}: {text}" if outcome == "ENVIRONMENT" else "OK: the child process ends normally"
    except MemoryError:
        os.write(1, b"\nCHILD memory\n")
        return 0
    except (Exception, SystemExit) as error:
        instead = f"DIFFERENT: an exception instead: {type(error).__name__}: {first_line(error)}"
        said = "memory" if "bad_alloc" in str(error) else instead
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    os.write(1, f"\nCHILD {said}\n".encode(errors="replace"))
    return 0
