"""The benchmark of coverage tells what TVM's tests alone reach, and keeps what they reached."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import benchmark_victims  # noqa: F401 - so that benchmarks can be imported
import compiler_coverage
import numpy as np
import pytest
from shared import watched_tests

from relaxkit.coverage.table import BlockTable

TABLE = BlockTable(
    "b1",
    ("src/relax/op/a.cc", "src/relax/transform/b.cc"),
    {},
    np.array([0, 100, 200]),
    np.array([0, 1, 1]),
    ("Add", "Fuse", ""),
    np.array([0, 10, 20, 100, 110, 200, 210, 220]),
)
OURS = {0, 100, 210}
FIRST = {0: "one.py", 10: "one.py", 20: "two.py", 110: "two.py", 200: "one.py", 220: "two.py", 210: "two.py"}


def test_blocks_are_counted_by_directory_and_by_who_reached_them() -> None:
    rows = [tuple(row.values()) for row in compiler_coverage.by_directory(TABLE, OURS, FIRST.keys())]
    assert rows == [("transform", 5, 2, 4, 3, 2 / 5), ("op", 3, 1, 3, 2, 1 / 3), ("all", 8, 3, 7, 5, 3 / 8)]


def test_functions_that_only_tests_reach_far_into_are_listed_with_the_reason() -> None:
    rows = compiler_coverage.of_tests_only(TABLE, OURS, FIRST, 2, [{"file": "transform/b.cc", "reason": "GPU"}])
    assert [(row["by the tests only"], row["of"], row["function"], row["reason"]) for row in rows] == [
        (2, 3, "Add", ""),
        (2, 3, "at 0xc8", "GPU"),
    ]
    assert rows[0]["file"] == "op/a.cc"
    assert len(compiler_coverage.of_tests_only(TABLE, OURS, FIRST, 1, [])) == 3


def test_a_reason_may_be_of_some_functions_of_a_file_only() -> None:
    why = [{"function": "Sub", "file": "op/a.cc", "reason": "no"}, {"file": "op/a.cc", "reason": "yes"}]
    assert compiler_coverage.of_tests_only(TABLE, OURS, FIRST, 2, why)[0]["reason"] == "yes"


def test_every_reason_is_complete() -> None:
    for row in compiler_coverage.reasons():
        assert row.keys() - {"function"} == {"file", "reason"}
        assert row["reason"].endswith(".")


def test_what_tests_reached_is_kept_file_by_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / watched_tests.TESTS
    folder.mkdir(parents=True)
    for name in ("test_a.py", "test_b.py"):
        (folder / name).touch()
    ran = []

    def run(_folder: Path, paths: Sequence[Path]) -> Any:
        ran.append([path.name for path in paths])
        if len(ran) == 2:
            raise KeyboardInterrupt
        return {paths[0].name: watched_tests.TestFile({"passed": 2}, [1, len(ran)])}

    monkeypatch.setattr(watched_tests, "watched_files", run)
    monkeypatch.setattr("relaxkit.coverage.breakpoints.prepare", lambda: "b1")
    kept = tmp_path / "blocks"
    with pytest.raises(KeyboardInterrupt):
        watched_tests.watched(tmp_path, kept)
    watched_tests.watched(tmp_path, kept)
    assert ran == [["test_a.py", "test_b.py"], ["test_b.py"], ["test_b.py"]]
    tests = watched_tests.watched(None, kept)
    assert tests.first == {1: "test_a.py", 3: "test_b.py"}
    assert tests.text == "2 files: 4 passed"


def test_blocks_of_another_build_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched_tests.Tests("b1", {}).write(tmp_path / "blocks")
    monkeypatch.setattr("relaxkit.coverage.breakpoints.prepare", lambda: "b2")
    with pytest.raises(SystemExit, match="build b1"):
        watched_tests.watched(None, tmp_path / "blocks")


TESTS = """
import os
import pytest
from tvm import IRModule, relax

def test_that_passes():
    relax.transform.CanonicalizeBindings()(IRModule())

def test_that_fails():
    assert False

@pytest.mark.skip
def test_that_is_skipped():
    pass

def test_that_ends_the_process():
    relax.transform.Normalize()(IRModule())
    os._exit(1)
"""


def test_files_are_watched_until_one_ends_the_process(tmp_path: Path) -> None:
    for name, text in {"test_some.py": TESTS, "test_later.py": TESTS, "test_broken.py": "import nothing_there"}.items():
        (tmp_path / name).write_text(text)
    paths = [tmp_path / name for name in ("test_broken.py", "test_some.py", "test_later.py")]
    found = watched_tests.watched_files(tmp_path, paths)
    assert {name: file.outcomes for name, file in found.items()} == {
        "test_broken.py": {"not collected": 1},
        "test_some.py": {"passed": 1, "failed": 1, "skipped": 1, "died": 1},
    }
    assert found["test_some.py"].blocks
