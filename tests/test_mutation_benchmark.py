"""The mutation benchmark: what it changes, and which tests it tries."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "benchmarks"))
TEXT = '''
LIMIT = 3


def f(a, b: int = 2) -> "int":
    """Text, 1."""
    if a and b:
        g(a, b)
    while a < b:
        a += 1
    raise ValueError(f"{a + 4}", 5)


class C:
    def m(self, é):
        return [x for x in é if x is not None]
'''
EXPECTED = {
    ("f", "and/or", "if ((a) or (b)):"),
    ("f", "condition negated", "if (not (a and b)):"),
    ("f", "statement removed", "        pass\n    while"),
    ("f", "arguments swapped", "g(b, a)"),
    ("f", "comparison flipped", "while ((a) >= (b)):"),
    ("f", "condition negated", "while (not (a < b)):"),
    ("f", "constant changed", "a += (1 + 1)"),
    ("f", "statement removed", "        pass\n    raise"),
    ("C.m", "return value dropped", "return None"),
    ("C.m", "condition negated", "if (not (x is not None))]"),
    ("C.m", "comparison flipped", "if ((x) is (None))]"),
}


@pytest.fixture(scope="module")
def mutations() -> Any:
    spec = importlib.util.spec_from_file_location("mutations", ROOT / "benchmarks" / "mutations.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["mutations"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_kind_of_change_is_made_in_functions_and_nowhere_else(mutations: Any) -> None:
    found = mutations.Places("x.py", TEXT).found
    for function, kind, text in EXPECTED:
        changed = [mutations.mutated(TEXT, each) for each in found if (each.function, each.kind) == (function, kind)]
        assert any(text in each for each in changed), (kind, changed)
    assert len(found) == len(EXPECTED)


def test_a_seed_decides_the_mutations_and_all_compile(mutations: Any, tmp_path: Path) -> None:
    (tmp_path / "oracles").mkdir()
    (tmp_path / "oracles" / "x.py").write_text(TEXT, encoding="utf-8")
    drawn = mutations.draw(tmp_path, 5, 1)
    assert drawn == mutations.draw(tmp_path, 5, 1) != mutations.draw(tmp_path, 5, 2)
    for each in mutations.draw(tmp_path, 100, 1):
        compile(mutations.mutated(TEXT, each), "x.py", "exec")


def test_particular_tests_come_first_and_each_file_has_one(mutations: Any, tmp_path: Path) -> None:
    rows = [("a.py::wide", 9.0, 5), ("a.py::narrow", 1.0, 1), ("b.py::only", 2.0, 4), ("b.py::gone", 0.1, 1)]
    lines = [
        json.dumps({"test": test, "seconds": seconds, "ran": ["x.py:f", *map(str, range(more))]})
        for test, seconds, more in rows
    ]
    (tmp_path / "map").write_text("\n".join(lines))
    known = mutations.read_map([tmp_path / "map"])["x.py:f"]
    listed = frozenset(test for test, _, _ in rows if test != "b.py::gone")
    for seconds, expected in (
        (20.0, ["a.py::narrow", "b.py::only", "a.py::wide"]),
        (4.0, ["a.py::narrow", "b.py::only"]),
    ):
        assert [each.test for each in mutations.chosen(known, seconds, listed)] == expected


def test_where_the_map_has_no_function_its_file_and_then_its_room_are_tried(mutations: Any, tmp_path: Path) -> None:
    rows = [("a.py::f", ["oracles/x.py:f"]), ("a.py::g", ["oracles/x.py:g"]), ("b.py::h", ["oracles/y.py:h"])]
    lines = [json.dumps({"test": test, "seconds": 1.0, "ran": ran}) for test, ran in rows]
    (tmp_path / "map").write_text("\n".join(lines))
    known = mutations.read_map([tmp_path / "map"])
    for file, function, expected in (
        ("oracles/x.py", "f", ["a.py::f"]),
        ("oracles/x.py", "new", ["a.py::f", "a.py::g"]),
        ("oracles/new.py", "f", ["a.py::f", "a.py::g", "b.py::h"]),
        ("reports/new.py", "f", []),
    ):
        mutation = mutations.Mutation(file, function, 1, "and/or", 0, 1, "x")
        assert [each.test for each in mutations.running(known, mutation)] == expected


def test_a_mutation_is_killed_by_the_test_that_fails_with_it_and_leaves_nothing(mutations: Any, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "oracles").mkdir(parents=True)
    (source / "oracles/__init__.py").touch()  # or the installed one would be found
    (source / "oracles/x.py").write_text("def least(a, b):\n    return a if a < b else b\n")
    (source / "test_x.py").write_text(
        "from oracles.x import least\n\n\ndef test_alike():\n    assert least(2, 2) == 2\n\n\n"
        "def test_other():\n    assert least(2, 3) == 2\n"
    )
    (source / "pytest.ini").write_text("[pytest]\naddopts = -q\nmarkers = slow\n")
    for command in (["git", "init", "-q"], ["git", "add", "-A"]):
        subprocess.run(command, cwd=source, check=True)
    tree = mutations.Tree(source, tmp_path)
    listed = tree.tests("not slow")
    assert sorted(listed) == ["test_x.py::test_alike", "test_x.py::test_other"]
    known = [mutations.Known(test, 0.1, 1) for test in sorted(listed)]
    (flipped,) = [each for each in mutations.draw(source, 9, 1) if each.kind == "comparison flipped"]
    assert tree.killer(flipped, known[:1]) is None
    assert tree.killer(flipped, known) == "test_x.py::test_other"
    assert (tree.root / "oracles/x.py").read_text() == (source / "oracles/x.py").read_text()
    assert tree.killer(dataclasses.replace(flipped, new="a <= b"), known) is None
    tree.end()
