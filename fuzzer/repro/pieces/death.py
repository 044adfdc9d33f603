"""The process that dies, does not end, or eats all memory: a forked child, under limits, judged by its parent."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from fuzzer.repro.pieces.frame import first_line


def in_child(check: Callable[[], tuple[str, str]], kind: str, seconds: float, megabytes: int) -> tuple[str, str]:
    """Check in a child process, which is expected to end by ``kind``: a signal, an exit, a hang or memory.

    Exit codes belong to the passes, which may end the process by any of them: what the child says comes by a pipe.
    """
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what passes print is no outcome
        child(writing, check, seconds, megabytes)
    os.close(writing)
    with os.fdopen(reading, errors="replace") as pipe:
        said = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    outcome, colon, rest = said.partition(": ")
    if colon:
        return outcome, rest
    if said == "memory":
        seen, how = "memory", "memory exhausted"
    elif code in (-signal.SIGALRM, -signal.SIGPROF):
        seen, how = "hang", f"did not end within {seconds:g} s"
    elif code < 0:
        seen, how = f"signal {-code}", f"killed by signal {-code}"
    else:
        seen, how = f"exit {code}", f"exited with code {code}"
    return ("BUG", how) if seen == kind else ("DIFFERENT", f"expected {kind}, the child process ended with {seen}")


def child(said: int, check: Callable[[], tuple[str, str]], seconds: float, megabytes: int) -> None:
    """In the child process: set the limits (no limit of memory for 0), check, write to ``said`` how it ended."""
    try:
        if megabytes:
            import resource

            with open("/proc/self/statm", encoding="ascii") as statm:
                mapped = int(statm.read().split()[0]) * resource.getpagesize()
            limit = mapped + (megabytes << 20)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        # They kill, also in the midst of C++ code. It is the processor's time that counts: the machine may be busy. The
        # clock's is for what waits without end.
        for number, timer, time in (
            (signal.SIGPROF, signal.ITIMER_PROF, seconds),
            (signal.SIGALRM, signal.ITIMER_REAL, max(seconds, min(3 * seconds, 80))),
        ):
            signal.signal(number, signal.SIG_DFL)
            signal.setitimer(timer, time)
        outcome, text = check()
        ended = f"{outcome}: {text}" if outcome == "ENVIRONMENT" else "OK: the child process ends normally"
    except MemoryError:
        ended = "memory"
    except BaseException as error:
        instead = f"DIFFERENT: an exception instead: {type(error).__name__}: {first_line(error)}"
        ended = "memory" if "bad_alloc" in str(error) else instead
    os.write(said, ended.encode(errors="replace"))
    os._exit(0)
