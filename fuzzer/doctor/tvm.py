"""TVM, its processes, its JIT and its plain build, as ``relaxfuzz doctor`` tries them: in children that may die."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from fuzzer.core.installed import FFI, TVM, EnvironmentFault, require_working_pair, untested
from fuzzer.core.text import first_line
from fuzzer.doctor import machine
from fuzzer.doctor import probes as probe
from fuzzer.doctor.machine import Health, HealthCheck, ok
from fuzzer.worker.death import Death, Died
from fuzzer.worker.worker import ChildError, IsolatedWorker
from relaxkit.compat import jit

PAIR = "TVM and its ffi"
FORK_SERVER = "isolated processes"
JIT = "JIT"
PLAIN = "relax.build"
SCRIPT = "TVMScript"
_LIMIT = 120.0
_PAIR_PROBE = """
import sys
sys.path[:] = filter(None, sys.path)  # not from the directory that it happens to run in
import fuzzer
from fuzzer.doctor.probes import save_and_load
save_and_load()
"""


def checks() -> list[HealthCheck]:
    """Check the pair first; when it does not work, nothing that stands on it is tried."""
    first = pair()
    if first.health is Health.FAIL:
        return [first, *(_untried(name, PAIR) for name in (FORK_SERVER, JIT, PLAIN, SCRIPT))]
    with IsolatedWorker(time_limit=_LIMIT) as worker:
        second = isolated_processes(worker)
        if second.health is Health.FAIL:
            return [first, second, *(_untried(name, FORK_SERVER) for name in (JIT, PLAIN, SCRIPT))]
        in_process = just_in_time(worker)
        linked = _tried(PLAIN, worker, probe.on_record, Health.WARN)  # confirms findings; a campaign can do without
        if in_process.health is Health.WARN and linked.health is Health.WARN:
            why = "nothing can execute a module: neither the JIT nor relax.build works"
            in_process = HealthCheck(JIT, Health.FAIL, in_process.found, why)
        written = _tried(SCRIPT, worker, probe.script, Health.FAIL)  # cases and scripts are written so
        return [first, second, in_process, linked, written, cache(worker)]


def pair() -> HealthCheck:
    """Check that the releases fit, by the table, and that a module survives JSON, in a plain child."""
    try:
        found = require_working_pair()
    except EnvironmentFault as error:
        return HealthCheck(PAIR, Health.FAIL, str(error))
    what = f"{TVM} {found.tvm} with {FFI} {found.ffi}"
    try:
        done = subprocess.run([sys.executable, "-c", _PAIR_PROBE], capture_output=True, text=True, timeout=_LIMIT)
    except subprocess.TimeoutExpired:
        return HealthCheck(PAIR, Health.FAIL, f"{what}: importing it took more than {_LIMIT:g} s")
    if done.returncode < 0:
        how = Died.by_exit_code(done.returncode, "").detail
        return HealthCheck(
            PAIR, Health.FAIL, f"{what}: saving a module kills the process: {how}", "the two versions do not match"
        )
    if done.returncode:
        return HealthCheck(PAIR, Health.FAIL, f"{what}: {_last_line(done.stderr)}")
    if warning := untested(found):
        return HealthCheck(PAIR, Health.WARN, warning)
    return ok(PAIR, f"{what}; a module was saved as JSON and loaded")


def isolated_processes(worker: IsolatedWorker) -> HealthCheck:
    """Check that the fork server starts processes, and that a death in one is seen and survived."""
    try:
        worker.call(probe.process_id, None)
        worker.fresh()
        before = time.monotonic()
        worker.call(probe.process_id, None)
        took = time.monotonic() - before
        died = worker.call(probe.segfault, None)
        alive = worker.call(probe.process_id, None)
    except (OSError, EOFError, ChildError) as error:
        return HealthCheck(FORK_SERVER, Health.FAIL, f"the fork server cannot start any: {_last_line(str(error))}")
    if not isinstance(died, Died) or died.death is not Death.SIGNAL or isinstance(alive, Died):
        return HealthCheck(FORK_SERVER, Health.FAIL, "a crash is not detected, or no other process can be started")
    return ok(FORK_SERVER, f"a fork took {1000 * took:.0f} ms; the fork server survived a child's segmentation fault")


def just_in_time(worker: IsolatedWorker) -> HealthCheck:
    """Check that kernels are compiled and run without a linker; a campaign can do without, slowly."""
    if not jit.installed():
        return HealthCheck(JIT, Health.WARN, jit.NO_JIT)
    return _tried(JIT, worker, probe.in_process, Health.WARN)


def cache(worker: IsolatedWorker) -> HealthCheck:
    """Check that compiled kernels can be kept on disk."""
    answer = worker.call(probe.cache_place, None)
    assert not isinstance(answer, Died), answer  # it has answered harder questions before
    return machine.cache_directory(Path(answer))


def _tried(name: str, worker: IsolatedWorker, function: Callable[[None], str], otherwise: Health) -> HealthCheck:
    try:
        answer = worker.call(function, None)
    except ChildError as error:
        return HealthCheck(name, otherwise, _last_line(str(error)).removeprefix(f"{probe.__name__}.WrongAnswer: "))
    if isinstance(answer, Died):
        return HealthCheck(name, otherwise, f"the process that tried it died: {answer.detail}")
    return ok(name, answer)


def _untried(name: str, needed: str) -> HealthCheck:
    return HealthCheck(name, Health.FAIL, f"not tried: it needs {needed}")


def _last_line(text: str) -> str:
    """Return the last line of a traceback that is not empty."""
    return first_line("\n".join(reversed(text.splitlines())), "no message")
