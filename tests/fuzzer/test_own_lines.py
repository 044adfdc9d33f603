"""Lines of a user's pass that never ran are told: a bug in these cannot have been found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from sample_records import META, shard

from fuzzer.core.config import Config
from fuzzer.core.coverage import Coverage
from fuzzer.shard.run import ShardAccumulator
from fuzzer.shard.shard import ExampleDone, ShardTask, run_shard
from fuzzer.store.grouping import noted
from fuzzer.store.merge import merge
from fuzzer.store.records import Tally
from fuzzer.store.writer import Store
from fuzzer.worker.worker import IsolatedWorker
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import USER_PREFIX, PassRef

SOURCE = '''"""A pass."""
import tvm


def rare(module):
    """Is never called."""
    for name in module.functions:
        print(name)
    return module


@tvm.transform.module_pass(opt_level=0)
def Rebuild(module, context):
    if len(module.functions) > 1000:
        return rare(module)
    return tvm.IRModule(
        dict(module.functions),
        attrs=module.attrs, global_infos=module.global_infos,
    )


def make():
    return Rebuild
'''


def lines_of(task: ShardTask) -> dict[tuple[str, int], bool]:
    added = ShardAccumulator(task)
    for item in run_shard(task):
        added.add(item)
    return added.flush().result.lines


@pytest.mark.parametrize("factory", ["Rebuild", "make"])
def test_a_shard_tells_which_statements_of_functions_ran(tmp_path: Path, factory: str) -> None:
    file = tmp_path / "rebuild.py"
    file.write_text(SOURCE)
    ref = PassRef("Rebuild", f"{USER_PREFIX}{file}:{factory}")
    task = ShardTask(Config(1, (), (ref,), (OracleName.CRASH,), 4, None, 1), 0, limit=4)
    with IsolatedWorker() as worker:
        told = worker.call(lines_of, task)
    assert isinstance(told, dict)
    ran = {line: each for (place, line), each in told.items() if place == str(file)}
    others = {23: True} if factory == "make" else {}  # what the pass does not call is not its own
    assert ran == {7: False, 8: False, 9: False, 14: True, 15: False, 16: True, **others}


def test_a_file_that_is_edited_meanwhile_is_told_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "rebuild.py"
    file.write_bytes(b"# -*- coding: latin-1 -*-\n" + SOURCE.replace("A pass", "Caf\xe9").encode("latin-1"))
    ref = PassRef("Rebuild", f"{USER_PREFIX}{file}:Rebuild")
    task = ShardTask(Config(1, (), (ref,), (OracleName.CRASH,), 4, None, 1), 0, limit=4)
    with IsolatedWorker() as worker:
        before = worker.call(lines_of, task)
        file.write_text("edited (")
        assert worker.call(lines_of, task) == {}, "all was told"
    assert isinstance(before, dict)
    assert {line for (place, line), ran in before.items() if ran} == {15, 17}


def test_a_module_that_is_no_python_file_has_no_lines_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "binary_pass.py").write_text(f"{SOURCE}\n__file__ = '{tmp_path}/binary_pass.so'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    ref = PassRef("Rebuild", f"{USER_PREFIX}binary_pass:Rebuild")
    with IsolatedWorker(inherits=True) as worker:
        assert (
            worker.call(lines_of, ShardTask(Config(1, (), (ref,), (OracleName.CRASH,), 4, None, 1), 0, limit=4)) == {}
        )


def test_what_ran_in_one_piece_has_run(tmp_path: Path) -> None:
    added = ShardAccumulator(ShardTask(Config(1, (), (), (OracleName.CRASH,), 4, None, 1), 0))
    added.add(ExampleDone(0, (), (), lines=frozenset({("a.py", 1, True), ("a.py", 2, False)})))
    first = added.flush().result
    added.add(ExampleDone(1, (), (), lines=frozenset({("a.py", 1, False), ("a.py", 2, False), ("a.py", 2, True)})))
    first.add(added.flush().result)
    assert first.lines == {("a.py", 1): True, ("a.py", 2): True}


def campaign(place: Path, seed: int, *pieces: Mapping[tuple[str, int], bool]) -> Path:
    config = Config(seed, ("FuseOps",), (), (OracleName.CRASH,), 128, None, 1)
    with Store.create(place, {**META, "seed": str(seed), "config": config.to_json()}) as store:
        for number, lines in enumerate(pieces):
            result = shard(number)
            result.lines = {**lines}
            store.record_shard(result, 1.0 + number)
    return place


def test_stores_and_merged_campaigns_keep_what_ran_anywhere(tmp_path: Path) -> None:
    one = campaign(
        tmp_path / "one", 1, {("a.py", 1): True, ("a.py", 2): False}, {("a.py", 2): True, ("a.py", 1): False}
    )
    two = campaign(tmp_path / "two", 2, {("a.py", 1): False, ("a.py", 3): False, ("b.py", 9): False})
    with Store.open(one) as store:
        assert store.lines() == {"a.py": {1: True, 2: True}}
    merge([two, one], tmp_path / "both")
    with Store.open(tmp_path / "both") as store:
        assert store.lines() == {"a.py": {1: True, 2: True, 3: False}, "b.py": {9: False}}


@pytest.mark.parametrize(
    ("ran", "said"),
    [
        ({1: True, 4: True}, "every line of the pass in own.py was executed"),
        ({1: True, 4: False}, "in own.py, line 4 never ran"),
        ({1: False, 4: False, 5: True, 9: False}, "in own.py, lines 1 to 4 and 9 never ran"),
        (
            {n: n % 2 == 0 for n in range(40)},
            "in own.py, lines 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23 and 8 more places never ran",
        ),
    ],
)
def test_statements_that_never_ran_are_named_by_their_lines(ran: dict[int, bool], said: str) -> None:
    assert noted([], {"/home/me/own.py": ran}) == [said]


@pytest.mark.parametrize(("changed", "hint"), [(1, True), (200, False)])
def test_how_many_modules_the_pass_changed_is_said(changed: int, hint: bool) -> None:
    coverage = Coverage(judged=Counter({"Mine": 706}), changed=Counter({"Mine": changed}))
    ran = [Tally("crash", name, "pass", "", 9) for name in coverage.judged]
    first, _ = noted(ran, {"/home/me/own.py": {1: True}}, coverage)
    assert first.startswith(f"Mine changed {changed} of 706 modules")
    assert ("`--plant` inserts a pattern" in first) is hint
    failing = [Tally("crash", "Mine", "fail", "", 9)]
    failed, _ = noted(failing, {"/home/me/own.py": {1: True}}, coverage)
    assert "--plant" not in failed, "no module helps a pass that fails on every one"
    assert failed.endswith(" of 706 modules; it never ran without an error, so no results could be judged")
    assert noted([], {}, coverage) == [], "of passes of TVM the report has a table"


def test_notes_are_bounded_however_many_places_a_campaign_names() -> None:
    assert len(noted([], {f"{number}.py": {1: True} for number in range(1000)})) == 20
