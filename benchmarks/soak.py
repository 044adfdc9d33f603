"""Does a campaign keep its speed and its memory, and what does it leave behind?

    python benchmarks/soak.py [--time 1h] [--window 10m] [--workers 2] [--seed 1] [--cheap] [--keep DIR]
        [--kill-every TIME] [--json]
    python benchmarks/soak.py --undisturbed N --keep DIR

A campaign of the command line is watched from outside: cases a second in each window, resident memory of each kind of
process, processor time of the coordinator, sizes of database, log and kernel cache; and, when it is over, the processes
and temporary files that are left.  Its cache and temporary directory are its own.  With ``--cheap`` passes that do
nothing are judged by the crash oracle alone: what is left is the work of the campaign itself.  With ``--kill-every``
its coordinator is killed again and again, and the same command resumes it.  ``--undisturbed`` runs the first N cases of
a campaign that was kept once more, without a kill, and compares the two: of each whole shard the cases, modules and
bindings; of each finding that these shards showed first its case, its evidence and its place.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
from shared import arguments
from tabulate import tabulate

_MIB = 1 << 20
_GOAL = 2000
"""Cases a second that the coordinator should be able to hand out and record."""
_CHEAP = """
import tvm

def _idle(name):
    def factory():
        return tvm.transform.module_pass(lambda module, context: module, opt_level=0, name=name)
    return factory

globals().update({f"idle_{number}": _idle(f"idle_{number}") for number in range(10)})
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """The campaign at one moment: seconds since its start, cases, the coordinator's processor time, MiB by role.

    ``handles`` are open files by role, and ``session`` is the number of the session.
    """

    at: float
    cases: int
    processor: float
    resident: Mapping[str, float]
    handles: Mapping[str, int]
    session: int


def role(process: psutil.Process, coordinator: int) -> str:
    """What a process of a campaign is."""
    if process.pid == coordinator:
        return "coordinator"
    text = " ".join(process.cmdline())
    if "resource_tracker" in text:
        return "resource tracker"
    if "forkserver" in text:
        return "fork server" if process.ppid() == coordinator else "worker"
    return "script"


def sample(session: int, out: Path, begun: float, number: int) -> Sample | None:
    """Look at the campaign; ``None`` when it is over or records nothing yet."""
    from fuzzer.store.writer import Store, StoreError

    resident: dict[str, float] = {}
    handles: dict[str, int] = {}
    try:
        coordinator = psutil.Process(session)
        times = coordinator.cpu_times()
        for each in (coordinator, *coordinator.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                name = role(each, session)
                resident[name] = max(resident.get(name, 0.0), each.memory_info().rss / _MIB)
                handles[name] = max(handles.get(name, 0), each.num_fds())
        with Store.open(out) as store:
            cases = store.info().examples
    except (psutil.Error, StoreError):
        return None
    return Sample(time.monotonic() - begun, cases, times.user + times.system, resident, handles, number)


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a directory; hard links count once."""
    seen: dict[int, int] = {}
    for each in (path, *path.rglob("*")) if path.exists() else ():
        with contextlib.suppress(OSError):
            if each.is_file():
                seen[each.stat().st_ino] = each.stat().st_size
    return sum(seen.values())


def database_size(path: Path) -> int:
    """Bytes of the database with its log written back: a sample that ends after the campaign leaves the log behind."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return size_of(path)


def watch(options: argparse.Namespace, directory: Path) -> tuple[list[Sample], list[int], int]:
    """Run the campaign; gives the samples, the numbers of processes that are left, and how often it was killed."""
    (directory / "tmp").mkdir()
    (directory / "idle.py").write_text(_CHEAP)
    command = [
        str(Path(sys.executable).parent / "relaxfuzz"), "run", "--out", str(directory / "out"), "--regress", "off",
        "--time", f"{options.seconds:g}s", "--seed", str(options.seed), "--workers", str(options.workers),
    ]  # fmt: skip
    if options.cheap:
        passes = [part for number in range(10) for part in ("--pass", f"{directory / 'idle.py'}:idle_{number}")]
        command += [*passes, "--oracles", "crash"]
    environment = {**os.environ, "TMPDIR": str(directory / "tmp"), "RELAXFUZZ_CACHE": str(directory / "cache")}
    samples: list[Sample] = []
    members: dict[int, psutil.Process] = {}
    begun, kills = time.monotonic(), 0
    while _session(command, environment, options, directory, begun, kills, samples, members):
        kills += 1
    _, alive = psutil.wait_procs(list(members.values()), timeout=10)
    return samples, [each.pid for each in alive], kills


def _session(
    command: list[str],
    environment: Mapping[str, str],
    options: argparse.Namespace,
    directory: Path,
    begun: float,
    number: int,
    samples: list[Sample],
    members: dict[int, psutil.Process],
) -> bool:
    """Watch one session; whether it was killed."""
    before = samples[-1].cases if samples else 0
    since: float | None = None  # when it had recorded a case: who kills it again and again before lets nothing begin
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, start_new_session=True
    ) as session:
        pause = min(10.0, max(0.25, options.seconds / 200))
        while session.poll() is None:
            try:
                time.sleep(pause)
            except KeyboardInterrupt:
                session.send_signal(signal.SIGINT)
                session.wait()
                return False
            with contextlib.suppress(psutil.Error):
                for each in psutil.Process(session.pid).children(recursive=True):
                    members[each.pid] = each
            if (found := sample(session.pid, directory / "out", begun, number)) is not None:
                samples.append(found)
                with (directory / "samples.jsonl").open("a") as file:
                    file.write(json.dumps(asdict(found)) + "\n")
                if since is None and found.cases > before:
                    since = time.monotonic()
            if None not in (since, options.kill_every) and time.monotonic() - since > options.kill_every:
                print(f"killed after {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
                session.kill()
                session.wait()
                return True
        errors = session.stderr.read().decode() if session.stderr is not None else ""
        if session.returncode:
            raise SystemExit(f"the campaign ended with {session.returncode}: {errors}")
    return False


def rates(samples: list[Sample], window: float) -> list[float]:
    """Cases a second in each whole window, from the first case to the last one: triage behind it judges no new ones."""
    most = max((each.cases for each in samples), default=0)
    last = next((each.at for each in samples if each.cases == most), 0.0)
    working = [each for each in samples if each.cases and each.at <= last]
    found: list[float] = []
    first = working[0] if working else None
    for each in working:
        if first is not None and each.at - first.at >= window:
            found.append((each.cases - first.cases) / (each.at - first.at))
            first = each
    return found


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run and watch a campaign; the figures."""
    with contextlib.ExitStack() as stack:
        if options.keep is None:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soak-")))
        else:
            directory = options.keep
            try:
                directory.mkdir(parents=True)
            except OSError as error:
                raise SystemExit(f"soak: --keep {directory}: {error.strerror}") from error
        samples, alive, kills = watch(options, directory)
        if len(samples) < 2:
            raise SystemExit("the campaign was too short to be watched")
        out, last = directory / "out", samples[-1]
        working = [each for each in samples if each.cases]
        # Of one session: the next coordinator begins anew.
        last_session = [each for each in working if each.session == working[-1].session]
        processor = last_session[-1].processor - last_session[0].processor
        per_case = processor / max(last_session[-1].cases - last_session[0].cases, 1)
        windows = rates(samples, options.window)
        roles = sorted({name for each in samples for name in each.resident})
        half = len(samples) // 2
        database = database_size(out / "campaign.sqlite")
        return {
            "seconds": round(last.at, 1),
            "cases": last.cases,
            "cases_per_second": [round(each, 2) for each in windows],
            "last_to_first": round(windows[-1] / windows[0], 3) if windows and windows[0] else None,
            "rss_mib": {name: round(max(each.resident.get(name, 0.0) for each in samples), 1) for name in roles},
            "rss_mib_first_half": {
                name: round(max(each.resident.get(name, 0.0) for each in samples[:half]), 1) for name in roles
            },
            "handles_first_half": {name: max(each.handles.get(name, 0) for each in samples[:half]) for name in roles},
            "handles": {name: max(each.handles.get(name, 0) for each in samples) for name in roles},
            "kills": kills,
            "coordinator_microseconds_per_case": round(1e6 * per_case, 1),
            "coordinator_share_at_2000": round(_GOAL * per_case, 4),
            "database_bytes": database,
            "database_bytes_per_case": round(database / max(last.cases, 1), 1),
            "log_bytes": size_of(out / "workers.log"),
            "cache_bytes": size_of(directory / "cache"),
            "processes_left": alive,
            "files_left": sorted(each.name for each in (directory / "tmp").iterdir()),
        }


def _recorded(out: Path, shards: int) -> tuple[dict[int, tuple[int, ...]], dict[str, tuple[Any, ...]]]:
    """The first shards of a campaign, and the findings that they showed first: by number, and by id."""
    with contextlib.closing(sqlite3.connect(f"file:{out / 'campaign.sqlite'}?mode=ro", uri=True)) as connection:
        counts = connection.execute(
            "SELECT number, SUM(examples), SUM(modules), SUM(discarded), SUM(bindings) FROM shards"
            " WHERE number < ? GROUP BY number", (shards,),
        )  # fmt: skip
        found = {number: tuple(row) for number, *row in counts}
        rows = connection.execute(
            "SELECT id, shard, number, oracle, culprit, signature, case_json FROM findings WHERE shard < ?", (shards,)
        )
        return found, {name: tuple(row) for name, *row in rows}


def compare(options: argparse.Namespace) -> int:
    """Run the first cases of a campaign again, undisturbed, and print what differs."""
    from fuzzer.shard.draw import SHARD_EXAMPLES
    from fuzzer.store.writer import Store, StoreError

    shards = options.undisturbed // SHARD_EXAMPLES
    try:
        with Store.open(options.keep / "out") as store:
            seed = str(store.info().seed)
    except StoreError as error:
        raise SystemExit(f"soak: {error}") from error
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        out = Path(name) / "out"
        command = [
            str(Path(sys.executable).parent / "relaxfuzz"), "run", "--out", str(out), "--regress", "off", "--seed",
            seed, "--workers", str(options.workers), "--max-examples", str(shards * SHARD_EXAMPLES),
        ]  # fmt: skip
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        disturbed, undisturbed = _recorded(options.keep / "out", shards), _recorded(out, shards)
    differing = 0
    for what, first, second in zip(("shard", "finding"), disturbed, undisturbed, strict=True):
        for key in sorted(first.keys() | second.keys(), key=str):
            if (one := first.get(key)) != (other := second.get(key)):
                differing += 1
                print(f"{what} {key}: {str(one)[:300]} with kills, {str(other)[:300]} without")
    print(f"{len(undisturbed[0])} shards and {len(undisturbed[1])} findings compared: {differing} differ")
    return differing > 0


def main() -> int:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--time", type=arguments.duration, dest="seconds", default="1h")
    parser.add_argument("--window", type=arguments.duration, default="10m")
    parser.add_argument("--workers", type=arguments.count, default=2)
    parser.add_argument("--seed", type=arguments.whole, default=1)
    parser.add_argument("--cheap", action="store_true", help="passes that do nothing: the campaign's own work")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="a new directory for the campaign, which is kept")
    parser.add_argument(
        "--kill-every",
        type=arguments.duration,
        metavar="TIME",
        help="kill the coordinator so often, and resume the campaign",
    )
    parser.add_argument("--undisturbed", type=arguments.count, metavar="N", help="compare the first N cases of --keep")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.undisturbed is not None:
        if options.keep is None:
            raise SystemExit("soak: --undisturbed needs the campaign: --keep DIR")
        return compare(options)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell ignores for what runs in the background
    found = measure(options)
    if options.json:
        print(json.dumps(found))
        return 0
    rows = [(name, json.dumps(value) if isinstance(value, (dict, list)) else value) for name, value in found.items()]
    print(tabulate(rows, ("what", "value"), disable_numparse=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
