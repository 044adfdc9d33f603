"""TVM's own tests under the breakpoints of coverage: which blocks of the compiler each of their files reaches.

Is also the plugin of pytest that watches, in the processes that run the tests.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

TESTS = Path("tests/python/relax")
"""Where a checkout of TVM has the tests of Relax."""
LONGEST = 300
"""Seconds that one test may take."""
TOGETHER = 12
"""So many files run in one process: a process takes seconds to begin, and may die of a test."""
_INTO = "RELAXFUZZ_BLOCKS_OF_TESTS"
_OPTIONS = (
    "-q", f"--timeout={LONGEST}", "--continue-on-collection-errors", "-p", "no:cacheprovider", "-p", "no:relaxfuzz",
    "-p", "no:xdist",
)  # fmt: skip


@dataclass(slots=True)
class TestFile:
    """What became of the tests of a file.

    Attributes:
        outcomes: Tests by outcome; a file that is left out as a whole, or cannot be imported, is one ``not collected``,
            and what ends the process is ``died``.
        blocks: Addresses of blocks that it reached, and no file before it.
    """

    outcomes: dict[str, int] = field(default_factory=dict)
    blocks: list[int] = field(default_factory=list, repr=False)


@dataclass(frozen=True, slots=True)
class Tests:
    """The blocks that tests reached on a build of the compiler, by the name of their file."""

    build: str
    files: dict[str, TestFile]

    @classmethod
    def read(cls, path: Path) -> Tests:
        """Read what :meth:`write` wrote."""
        raw = json.loads(path.read_text(encoding="utf-8"))
        return cls(raw["build"], {name: TestFile(**each) for name, each in raw["files"].items()})

    def write(self, path: Path) -> None:
        """Write it."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @property
    def first(self) -> dict[int, str]:
        """The first file that reached each block."""
        return {block: name for name, each in self.files.items() for block in each.blocks}

    @property
    def text(self) -> str:
        """How many tests had which outcome."""
        outcomes = sum((Counter(each.outcomes) for each in self.files.values()), Counter[str]())
        return f"{len(self.files)} files: " + ", ".join(
            f"{count} {outcome}" for outcome, count in outcomes.most_common()
        )


def watched(checkout: Path | None, kept: Path | None) -> Tests:
    """Run all tests of a checkout whose files are not ``kept`` yet, and keep them; without a checkout, read those."""
    import tvm  # noqa: F401 - loads the compiler

    from relaxkit.coverage.breakpoints import prepare

    build = prepare()
    tests = Tests.read(kept) if kept is not None and kept.exists() else Tests(build, {})
    if tests.build != build:
        raise SystemExit(f"{kept} is of build {tests.build} of TVM's compiler, and {build} is installed")
    folder = (checkout / TESTS).absolute() if checkout is not None else Path()
    found = sorted(folder.rglob("test_*.py")) if checkout is not None else []
    while left := [path for path in found if str(path.relative_to(folder)) not in tests.files]:
        known = set(tests.first)
        for name, file in watched_files(folder, left[:TOGETHER]).items():
            file.blocks = sorted(set(file.blocks) - known)
            tests.files[name] = file
            print(f"{name}: {file}, {len(file.blocks)} new blocks", file=sys.stderr, flush=True)
        if kept is not None:
            tests.write(kept)
    return tests


def watched_files(folder: Path, paths: Sequence[Path]) -> dict[str, TestFile]:
    """Run the tests of some files in a process; where it dies, of those until there, or of the one that it died of."""
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-tests-") as elsewhere:
        into = Path(elsewhere) / "reached"
        (ini := Path(elsewhere) / "pytest.ini").touch()
        environment = {**os.environ, _INTO: str(into), "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
        command = [sys.executable, "-m", "pytest", *_OPTIONS, "-p", __name__, "-c", str(ini), "--rootdir", str(folder)]
        done = subprocess.run(
            [*command, *map(str, paths)], cwd=elsewhere, env=environment, capture_output=True, text=True, check=False
        )
        if not into.exists():
            raise SystemExit(f"tests cannot be watched: {done.stdout}{done.stderr}")
        rows = [json.loads(line) for line in into.read_text(encoding="utf-8").splitlines()]
    files: dict[str, TestFile] = {}
    ran: list[str] = []
    for row in rows:
        file = files.setdefault(row["file"] or str(paths[0].relative_to(folder)), TestFile())
        file.blocks += row["blocks"]
        if row["outcome"]:
            file.outcomes[row["outcome"]] = file.outcomes.get(row["outcome"], 0) + 1
            ran.append(row["file"])
    names = [str(path.relative_to(folder)) for path in paths]
    if not rows[-1]["last"]:
        last = rows[-1]["file"]
        files[last].outcomes["died"] = 1
        names = [name for name in names if name == last or name in ran]
    return {name: files.get(name, TestFile()) for name in names}


# In the process of the tests.


class _Watch:
    """Writes down what each test reached, at once: the next one may end the process."""

    def __init__(self, into: Path) -> None:
        import tvm  # noqa: F401 - loads the compiler

        from relaxkit.coverage.breakpoints import prepare, watch_compiler

        self._breakpoints = watch_compiler(prepare())
        self._into = into

    def _note(self, node: str, outcome: str = "", last: bool = False) -> None:
        blocks = self._breakpoints.take().tolist()
        row = {"file": node.partition("::")[0], "outcome": outcome, "last": last, "blocks": blocks}
        with self._into.open("a", encoding="utf-8") as file:
            print(json.dumps(row), file=file)

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        self._note(collector.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report.nodeid, "" if report.passed else "not collected")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._note(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        said = report.when == "call" or report.outcome != "passed"
        self._note(report.nodeid, report.outcome if said else "")

    def pytest_sessionfinish(self) -> None:
        self._note("", last=True)


def pytest_configure(config: Any) -> None:
    """Watch from here on."""
    config.pluginmanager.register(_Watch(Path(os.environ[_INTO])))
