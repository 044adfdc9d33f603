"""What do hostile campaign directories and malformed files do to the verbs that read them?

    python benchmarks/hostile.py --campaign DIR [--directories 2000] [--files 500] [--seed 1] [--json]

Copies of a real campaign are changed by chance (``benchmarks/hostile_mutations.py``), and every verb is run over each
in a forked process.  Promised (docs/security.md): each is read, or refused in one line with exit code 2; no traceback,
no exit code 70, nothing that takes more than ten seconds, nothing written outside of what the verb was told to write,
nothing outside of the campaign read, none of its code run unasked.  An audit hook and files that nobody may touch watch
over it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import io
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import msgspec
from hostile_mutations import DATABASE, MUTATIONS, file_text, files, sound_files
from shared import arguments
from tabulate import tabulate

import corpus.case
from fuzzer.store.trust import SEALED, Sealer, require_trust
from fuzzer.store.writer import Store

SECONDS = 10.0
SECRET = "secret-of-another-directory"
FINDINGS = 8
"""Findings that a copy keeps: enough to be changed, few enough to be read often."""
PAGES = 100
"""Of so many directories one is shown as a page and in Markdown, too."""
_READING = """
report DIR
report DIR --json
report DIR --markdown OUT/report.md
report DIR --html OUT/page
report DIR --html OUT/page.html
report DIR --junit OUT/junit.xml --sarif OUT/out.sarif --step-summary OUT/summary.md --policy OUT/policy.toml
report DIR --annotations
report GOOD DIR --html OUT/history.html
findings DIR
findings DIR --json
findings DIR --earlier
gate DIR --policy OUT/policy.toml --explain
gate DIR --policy OUT/policy.toml --json
gate GOOD --policy OUT/policy.toml --history DIR
baseline DIR --output OUT/baseline.json
baseline DIR --compare OUT/good.json
merge DIR GOOD --out OUT/merged
merge DIR --out OUT/alone
triage list --campaign DIR
passes --campaign DIR
ops --campaign DIR --json
ops --campaign DIR --pairs
corpus match DIR
repro DIR ID
repro DIR ID --markdown --output OUT/bug.md
repro DIR ID --json
"""
READING = _READING.strip().splitlines()
_RUNNING = """
repro DIR ID --check
repro DIR ID --fresh
bisect DIR ID
bisect DIR
minimize DIR ID --time 1s
corpus add DIR ID --title a --explanation b --root OUT
run --out DIR --seed SEED --max-examples 1
run --regress DIR --out OUT/run --max-examples 1
"""
RUNNING = _RUNNING.strip().splitlines()
"""Verbs that run code of a campaign: each of these campaigns was made, or changed, by somebody else."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one call.

    Attributes:
        verb: The command line, before its places were filled in.
        code: Exit code.
        problems: What must not happen and did.
        said: The last line on the standard error.
        seconds: Processor time.
    """

    verb: str
    code: int
    problems: tuple[str, ...]
    said: str
    seconds: float


class _Late(BaseException):
    pass


class Watch:
    """An audit hook for one process: what is written outside of the places where it may be, and what is run.

    Args:
        own: The campaign.
        places: Where files may be written.
    """

    def __init__(self, own: Path, places: Sequence[Path]) -> None:
        self.own, self.places = str(own), [str(each) for each in places]
        self.problems: list[str] = []
        self.reading = True

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """See ``sys.addaudithook``."""
        if event == "open" and isinstance(arguments[0], str) and isinstance(arguments[2], int):
            writes = arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
            if writes:
                self._written(arguments[0])
        elif event in ("os.rename", "os.link", "os.symlink"):
            self._written(str(arguments[1]))
        elif event in ("os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod", "shutil.rmtree"):
            self._written(str(arguments[0]))
        elif event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "pty.spawn"):
            if self.own in str(arguments):
                self.problems.append(f"runs {arguments[1]!r}"[:200])
        elif (event == "exec" and self.own in arguments[0].co_filename) or (
            event == "compile" and (self.own in str(arguments[1]) or "write_text('ran')" in str(arguments[0])[:500])
        ):
            self.problems.append(f"{event}s code of the campaign")

    def _written(self, path: str) -> None:
        # A path that does not begin at the root is below a directory that was opened, as `shutil.rmtree` has it.
        if path.startswith("/") and not any(
            path.startswith(place) for place in (self.own, *self.places, "/dev/", "/proc/")
        ):
            self.problems.append(f"writes {path}")


def trimmed(campaign: Path, out: Path) -> Path:
    """Copy a campaign with its first few findings."""
    shutil.copytree(campaign, out, ignore=shutil.ignore_patterns("report.*"))
    database = sqlite3.connect(out / DATABASE)
    database.execute("PRAGMA journal_mode = DELETE")
    with database:
        kept = "SELECT id FROM findings ORDER BY repro IS NULL, length(case_json) LIMIT ?"
        for table, column in (("findings", "id"), ("costs", "id"), ("sightings", "finding")):
            database.execute(f"DELETE FROM {table} WHERE {column} NOT IN ({kept})", (FINDINGS,))
        for table in ("operands", "pairs", "rewrites", "tallies", "spent"):
            columns = ", ".join(row[1] for row in database.execute(f"PRAGMA table_info({table})") if row[5])
            some = f"SELECT {columns} FROM {table} ORDER BY {columns} LIMIT 200"
            database.execute(f"DELETE FROM {table} WHERE ({columns}) NOT IN ({some})")
    ids = {row[0] for row in database.execute("SELECT id FROM findings")}
    database.execute("VACUUM")
    database.close()
    for script in (out / "repros").glob("*"):
        if script.stem not in ids:
            script.unlink()
    with Store.open(out) as store:
        sealer, rows = Sealer.of(store.meta()), {table: store.table(table) for table in SEALED}
    with contextlib.closing(sqlite3.connect(out / DATABASE)) as database, database:  # as if it had been made here
        database.execute("INSERT OR REPLACE INTO meta VALUES ('seal', ?)", (sealer.campaign,))
        for table, row in ((table, row) for table, found in rows.items() for row in found):
            seals = (sealer.row(table, row), row["id"], row["seal"])
            database.execute(f"UPDATE {table} SET seal = ? WHERE id = ? AND seal = ?", seals)
    with Store.open(out) as store:
        require_trust(store, False)
    return out


class Range:
    """A directory with a sound campaign, and places for its copies.

    Args:
        campaign: The sound one.
        root: An empty directory.
    """

    def __init__(self, campaign: Path, root: Path) -> None:
        # What each process would read anew: the corpus, and what is installed.
        corpus.case.parse_case = functools.cache(corpus.case.parse_case)
        importlib.metadata.entry_points = functools.cache(importlib.metadata.entry_points)
        self.root = root
        self.good = trimmed(campaign, root / "good")
        with Store.open(self.good) as store:
            self.ids = sorted(store.finding_ids())
            self.seed = str(store.info().seed)
        (root / "policy.toml").write_text("[oracles.crash]\nmin_pass_rate = 0.5\n")
        corpus.case.load()
        code = self._in_process("baseline GOOD --output OUT/good.json", root, self.good)[0]
        assert code in (0, 3), "3 for a campaign that was ended early, as that of the tests"
        for verb in READING:  # what they import is loaded in each process that is forked from here
            if "merge" not in verb and "--html" not in verb and "report.md" not in verb:
                assert self._in_process(verb, root, self.good)[0] in (0, 1, 2, 3), verb
        forkserver._forkserver._stop()  # a verb may have started it, and what is forked from here cannot wait for it

    def directory(self, seed: int, verbs: Sequence[str]) -> tuple[str, list[Outcome]]:
        """Make the hostile directory of a seed, and run the verbs over it."""
        place = self._place()
        outside, campaign, out = place / "outside", place / "campaign", place / "out"
        chance = random.Random(seed)
        shutil.copytree(self.good, campaign)
        name = ""
        chosen = [chance.choice(MUTATIONS) for _ in range(1 if chance.random() < 0.7 else 3)]
        own = [each.__name__ for each in chosen] == ["code"] and chance.random() < 0.5
        if not own:  # else all of it is the user's but for the code
            with contextlib.closing(sqlite3.connect(campaign / DATABASE)) as database, database:
                database.execute("DELETE FROM meta WHERE key = 'seal'")
        # Files last: another mutation would wait for a pipe itself.
        for mutation in sorted(chosen, key=lambda each: each is files):
            with contextlib.suppress(Exception):  # of what another mutation has made impossible
                name += f"{mutation.__name__} {mutation(campaign, outside, chance)} "
        return name, self._run(verbs, campaign, out, outside)

    def file(self, seed: int) -> tuple[str, list[Outcome]]:
        """Make the malformed file of a seed, and let the verb read it that files of its kind are for."""
        place = self._place()
        chance = random.Random(seed)
        name, verb, good = chance.choice(sound_files(self.root))
        path = place / "out" / name
        path.parent.mkdir(exist_ok=True)
        kind = chance.random()
        if kind < 0.04:
            os.mkfifo(path)
        elif kind < 0.08:
            path.symlink_to(chance.choice(("/dev/zero", "/dev/tty", str(path), "nowhere")))
        elif kind < 0.1:
            path.mkdir()
        elif kind < 0.12:
            path.touch()
            os.truncate(path, 1 << 40)
        else:
            path.write_bytes(file_text(good, chance))
        return name, self._run([verb], self.good, place / "out", place / "outside")

    def _place(self) -> Path:
        shutil.rmtree(self.root / "now", ignore_errors=True)
        place = self.root / "now"
        (place / "outside/folder").mkdir(parents=True)
        (place / "outside/secret.txt").write_text(SECRET)
        (place / "out").mkdir()
        for name in ("policy.toml", "good.json"):
            shutil.copy(self.root / name, place / "out" / name)
        return place

    def _run(self, verbs: Sequence[str], campaign: Path, out: Path, outside: Path) -> list[Outcome]:
        """Run verbs one after the other in a forked process; those behind one that does not come back in another."""
        before = _listing(outside)
        outcomes: list[Outcome] = []
        left = list(verbs)
        while left:
            got = [msgspec.convert(each, Outcome) for each in self._forked(left, campaign, out)]
            outcomes += got
            if len(got) < len(left):  # its process is gone
                outcomes.append(Outcome(left[len(got)], -1, ("does not come back, or ends its process",), "", SECONDS))
            left = left[len(got) + 1 :] if len(got) < len(left) else []
        if _listing(outside) != before:
            outcomes.append(Outcome("all", 0, ("something was written, or run, outside",), "", 0.0))
        return outcomes

    def _forked(self, verbs: Sequence[str], campaign: Path, out: Path) -> Iterator[Any]:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException), os.fdopen(writer, "w") as report:
                os.close(reader)
                temporary = Path(tempfile.gettempdir())
                watch = Watch(campaign, (out, temporary / "relaxfuzz", temporary / "pymp", self.root / "cache"))
                sys.addaudithook(watch)
                for verb in verbs:
                    outcome = self._outcome(verb, watch, campaign, out)
                    print(msgspec.json.encode(outcome).decode(), file=report, flush=True)
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as report:
            killer = _Killer(child)
            for line in report:
                killer.again()
                yield json.loads(line)
        killer.end()
        os.waitpid(child, 0)

    def _outcome(self, verb: str, watch: Watch, campaign: Path, out: Path) -> Outcome:
        watch.problems.clear()
        begun = time.process_time()
        code, output, errors = self._in_process(verb, out, campaign)
        taken = (
            time.process_time() - begun
        )  # what waits for ever meets the alarm; on a busy machine all else waits, too
        lines = errors.splitlines()
        problems = list(watch.problems)
        if code not in (0, 1, 2, 3):
            problems.append(f"exit code {code}")
        if "Traceback" in errors or (code == 2 and sum(line.startswith("relaxfuzz: error: ") for line in lines) != 1):
            problems.append("more than a line")
        if any(not line.startswith("relaxfuzz: ") or not line.isprintable() or len(line) > 2000 for line in lines):
            problems.append("unreadable lines")
        if verb in RUNNING and code != 2:
            problems.append("runs unasked")
        if taken > SECONDS:
            problems.append(f"takes {taken:.0f} s")
        written = "".join(
            each.read_text(errors="replace")
            for each in out.rglob("*")
            if each.is_file() and each.stat().st_size < 1 << 24
        )
        if SECRET in output + errors + written:
            problems.append("shows what is outside")
        return Outcome(verb, code, tuple(dict.fromkeys(problems)), lines[-1][:300] if lines else "", taken)

    def _in_process(self, verb: str, out: Path, campaign: Path) -> tuple[int, str, str]:
        from fuzzer.cli.main import main

        names = {"DIR": str(campaign), "GOOD": str(self.good), "OUT": str(out), "ID": self.ids[0], "SEED": self.seed}
        arguments = ["/".join(names.get(part, part) for part in word.split("/")) for word in verb.split()]
        signal.signal(signal.SIGALRM, _late)
        signal.setitimer(signal.ITIMER_REAL, 6 * SECONDS)
        output, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            try:
                code = main(arguments)
            except _Late:
                code = -1
            except BaseException:
                traceback.print_exc()
                code = -2
        signal.setitimer(signal.ITIMER_REAL, 0)
        return code, output.getvalue(), errors.getvalue()


class _Killer:
    """Ends a process that says nothing for long: Python's own alarm does not reach native code."""

    def __init__(self, child: int) -> None:
        self.child = child
        signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
        self.again()

    def again(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 8 * SECONDS)

    def end(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _late(*_: object) -> None:
    raise _Late


def _listing(directory: Path) -> list[tuple[str, int, str]]:
    return sorted(
        (str(each), each.stat().st_size, each.read_text() if each.is_file() else "") for each in directory.rglob("*")
    )


def measure(campaign: Path, directories: int, files: int, seed: int, root: Path, minutes: float) -> dict[str, Any]:
    """Run as much of it as there is time for, a file after so many directories as belong to one."""
    os.environ["XDG_CACHE_HOME"] = str(root / "cache")
    where = Range(campaign, root)
    problems: list[tuple[str, ...]] = []
    codes: Counter[tuple[str, int]] = Counter()
    done, slowest, until = Counter[str](), 0.0, time.monotonic() + 60 * minutes
    order = sorted([(n / max(1, directories), "directories", n) for n in range(directories)]
                   + [(n / max(1, files), "files", n) for n in range(files)])  # fmt: skip
    for _, kind, number in order:
        if time.monotonic() > until:
            break
        chance = seed * 1_000_003 + number
        if kind == "directories":
            # What shows modules lets an isolated process print them, which takes seconds to start.
            pages = number % PAGES == 0
            verbs = [verb for verb in (*READING, *RUNNING) if pages or not ("--html" in verb or "report.md" in verb)]
            what, outcomes = where.directory(chance, verbs)
        else:
            what, outcomes = where.file(chance + directories)
        done[kind] += 1
        for each in outcomes:
            codes[each.verb.split()[0], each.code] += 1
            slowest = max(slowest, each.seconds)
            found = [(f"{kind} {number}", what[:100], each.verb, problem, each.said) for problem in each.problems]
            problems += found
            for problem in found:
                print(*problem, sep=" | ", file=sys.stderr, flush=True)
    return {
        "seed": seed, **done, "calls": codes.total(), "slowest": round(slowest, 1),
        "codes": {f"{verb} {code}": count for (verb, code), count in sorted(codes.items())}, "problems": problems,
    }  # fmt: skip


def main() -> int:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--campaign", type=arguments.campaign, required=True, help="a sound campaign; it is copied")
    parser.add_argument("--directories", type=arguments.whole, default=2000)
    parser.add_argument("--files", type=arguments.whole, default=500)
    parser.add_argument("--seed", type=arguments.whole, default=1)
    parser.add_argument(
        "--minutes", type=arguments.positive, default=1e9, help="end after so many, with what was run by then"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with Store.open(options.campaign) as store:
        if not store.finding_ids():
            parser.error(f"'{options.campaign}' has no findings")
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        found = measure(
            options.campaign, options.directories, options.files, options.seed, Path(folder), options.minutes
        )
    if options.json:
        print(json.dumps(found))
    else:
        print(tabulate([(name, value) for name, value in found.items() if name not in ("codes", "problems")]))
        print(tabulate(sorted(found["codes"].items()), ("verb and exit code", "calls")))
        print(tabulate(found["problems"][:200], ("number", "mutation", "verb", "problem", "said")))
        print(f"{len(found['problems'])} problems")
    return 1 if found["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
