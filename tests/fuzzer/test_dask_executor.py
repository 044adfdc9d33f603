"""A executor of Dask workers, short: shards on a real cluster of this machine, and workers that do not fit."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

pytest.importorskip("distributed", reason="Dask's scheduler is not installed: pip install 'relaxfuzz[dask]'")

from fuzzer.cluster import dask_executor
from fuzzer.cluster.dask_client import DaskConnection
from fuzzer.cluster.dask_executor import DaskExecutor
from fuzzer.cluster.executor import ExecutorError, LocalExecutor
from fuzzer.core.config import Config
from fuzzer.shard.shard import ShardTask
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

USER = PassRef("refuses", f"user:{Path(__file__).parent / 'user_passes.py'}:refuses_second_function")
CONFIG = Config(5, ("Normalize",), (USER,), (OracleName.CRASH,), None, 60.0, 1)
LINES: list[str] = []


@pytest.fixture(scope="module")
def link() -> Iterator[DaskConnection]:
    with DaskConnection("local:1", LINES.append) as link:
        yield link


def executor(link: DaskConnection, tmp_path: Path, cut: threading.Event | None = None) -> DaskExecutor:
    return DaskExecutor(link, CONFIG, tmp_path, tmp_path / "log", threading.Event(), cut or threading.Event())


def test_a_shard_gives_the_same_on_a_dask_worker_and_here(link: DaskConnection, tmp_path: Path) -> None:
    tasks = [ShardTask(CONFIG, 0, limit=12), ShardTask(CONFIG, 1, first=3, limit=6)]
    there = executor(link, tmp_path)
    assert (there.workers, there.slots) == (1, 2)
    found = [future.result(timeout=300) for future in [there.shard(task) for task in tasks]]
    there.close()
    here = LocalExecutor(CONFIG, tmp_path, tmp_path / "log", threading.Event(), threading.Event())
    expected = [here.shard(task).result(timeout=300) for task in tasks]
    here.close()
    assert found == expected
    assert any(result.hits for result in expected), "or else this test says little"
    assert [sum(result.spent.values()) > 0 for result in found] == [True, True]
    assert LINES == ["Dask: 1 worker"]


def test_a_shard_that_is_cut_before_it_begins_gives_nothing(link: DaskConnection, tmp_path: Path) -> None:
    there = executor(link, tmp_path)
    there.kill()  # as Ctrl-C does: what comes to a worker after it ends at once
    result = there.shard(ShardTask(CONFIG, 3, first=2)).result(timeout=60)
    there.close()
    assert (result.first, result.stop, result.examples) == (2, 2, 0)


def test_a_worker_that_does_not_fit_gets_nothing(
    link: DaskConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {**dask_executor.environment_key(), "apache-tvm": "0.1"}
    monkeypatch.setattr(dask_executor, "environment_key", lambda: wanted)
    LINES.clear()
    there = executor(link, tmp_path)
    with pytest.raises(ExecutorError, match=r"no Dask worker can be used: tcp://.* has apache-tvm 0\.\S+, not 0\.1"):
        there.shard(ShardTask(CONFIG, 0)).result(timeout=60)
    there.close()
    (line,) = LINES
    assert "is not used: it has apache-tvm" in line


def test_a_worker_that_cannot_write_ends_the_campaign_in_one_line(
    link: DaskConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise dask_executor.WorkerFault("tcp://there", "OSError: No space left on device")

    monkeypatch.setattr(dask_executor.dask_worker, "run_shards", full)
    there = executor(link, tmp_path)
    with pytest.raises(ExecutorError) as caught:
        there.shard(ShardTask(CONFIG, 0)).result(timeout=60)
    there.close()
    said = "relaxfuzz shard: given up after 10 workers; tcp://there: OSError: No space left on device"
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("said", "kind"), [("Can't get attribute 'run_shards' on <module>", ExecutorError), ("no 'x'", AttributeError)]
)
def test_an_older_worker_ends_the_campaign_in_one_line_and_an_error_of_ours_does_not(
    link: DaskConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, kind: type[Exception]
) -> None:
    def lacks(*_: object) -> None:
        raise AttributeError(said)

    monkeypatch.setattr(dask_executor.dask_worker, "run_shards", lacks)
    there = executor(link, tmp_path)
    with pytest.raises(kind) as caught:
        there.shard(ShardTask(CONFIG, 0)).result(timeout=60)
    there.close()
    assert type(caught.value) is kind
    if kind is ExecutorError:
        assert str(caught.value) == f"a Dask worker has no matching version of relaxfuzz: {said}"


def test_nothing_is_left(tmp_path: Path) -> None:
    before = {each.pid for each in psutil.Process().children(recursive=True)}
    with DaskConnection("local:2", lambda _: None) as link:
        executor(link, tmp_path).close()
        assert len(link.threads) == 2
    after = [each for each in psutil.Process().children(recursive=True) if each.pid not in before]
    assert [each.cmdline() for each in after if "resource_tracker" not in " ".join(each.cmdline())] == []
