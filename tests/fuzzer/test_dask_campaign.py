"""Campaigns on a real Dask cluster: what lost workers, late ones and a scheduler that restarts may not change."""

from __future__ import annotations

import importlib
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

pytest.importorskip("distributed", reason="Dask's scheduler is not installed: pip install 'relaxfuzz[dask]'")

from dask_cluster import Cluster, end, tree

from fuzzer.campaign.regression import gather
from fuzzer.store.writer import FindingState, Store

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]
HERE = Path(__file__).parent
PROGRAM = (sys.executable, "-m", "fuzzer.cli.main")
PASSES = (
    "--passes", "CanonicalizeBindings,DeadCodeElimination,EliminateCommonSubexpr,ToNonDataflow,Normalize",
    "--oracles", "crash,mutation,determinism,sequential,idempotence,well-formed",
)  # fmt: skip
REFUSES = f"{HERE / 'user_passes.py'}:refuses_second_function"
SEGFAULTS = f"{HERE / 'user_passes.py'}:segfaults_on_if"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "dask"
    folder.mkdir()
    with Cluster(folder) as cluster:
        yield cluster


def start(out: Path, *arguments: object) -> subprocess.Popen[str]:
    command = [*PROGRAM, "run", "--out", str(out), "--seed", "5", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str], seconds: float = 1500) -> str:
    try:
        output, errors = process.communicate(timeout=seconds)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert "Traceback" not in errors + output
    return errors


def substance(out: Path) -> dict[str, Any]:
    """All of a campaign that its seed and budget decide."""
    gather([out])  # refuses rows and scripts that are not sealed
    with Store.open(out) as store:
        info = store.info()
        return {
            "examples": info.examples, "modules": info.modules, "tallies": store.tallies(),
            "coverage": store.coverage(), "shards": store.shards(), "discarded": store.discarded(),
            "findings": [
                (each.id, each.signature, each.count, each.case, each.evidence, each.state, each.bindings)
                for each in store.findings()
            ],
        }  # fmt: skip


def examples(out: Path) -> int:
    if not (out / "campaign.sqlite").exists():
        return 0
    with Store.open(out) as store:
        return store.info().examples


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 1000) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_one_worker_two_workers_and_three_of_dask_with_one_killed_find_the_same(
    tmp_path: Path, cluster: Cluster
) -> None:
    arguments = (*PASSES, "--pass", REFUSES, "--max-examples", 960)
    workers = [cluster.add_worker() for _ in range(3)]
    process = start(tmp_path / "dask-out", *arguments, "--dask", cluster.address)
    wait_for(lambda: examples(tmp_path / "dask-out") >= 192, process)
    before = examples(tmp_path / "dask-out")
    end(workers[1])
    errors = finish(process)
    assert before < 900, "killed in the middle"
    assert re.search(r"Dask: 3 workers.*Dask: 2 workers", errors, re.DOTALL), errors
    finish(start(tmp_path / "one", *arguments, "--workers", 1))
    finish(start(tmp_path / "two", *arguments, "--workers", 2))
    expected = substance(tmp_path / "one")
    assert expected["examples"] == 960
    assert expected["findings"], "or else this test says little"
    assert substance(tmp_path / "two") == expected
    assert substance(tmp_path / "dask-out") == expected
    scripts = {path.name: path.read_text() for path in (tmp_path / "one" / "repros").iterdir()}
    assert scripts.keys() == {path.name for path in (tmp_path / "dask-out" / "repros").iterdir()}
    assert all("relaxfuzz-dask-" not in path.read_text() for path in (tmp_path / "dask-out" / "repros").iterdir())


def test_a_crash_of_tvm_ends_no_dask_worker(tmp_path: Path, cluster: Cluster) -> None:
    worker = cluster.add_worker()
    arguments = ("--pass", SEGFAULTS, "--oracles", "crash", "--max-examples", 128)
    process = start(tmp_path / "out", *arguments, "--dask", cluster.address)
    wait_for(lambda: examples(tmp_path / "out") > 0, process)
    inner = {each.pid for each in tree(worker) if "spawn_main" in " ".join(each.cmdline())}
    finish(process)
    with Store.open(tmp_path / "out") as store:
        findings = store.findings()
    assert [(each.kind, each.state) for each in findings] == [("signal 11", FindingState.CONFIRMED)]
    assert findings[0].count > 1
    assert inner
    assert inner <= {each.pid for each in tree(worker)}, "the Dask worker is the same process"


def test_a_restarted_scheduler_and_late_workers_change_nothing(tmp_path: Path, cluster: Cluster) -> None:
    arguments = (*PASSES, "--pass", REFUSES, "--max-examples", 640)
    process = start(tmp_path / "out", *arguments, "--dask", cluster.address)
    wait_for((tmp_path / "out" / "campaign.sqlite").exists, process)
    cluster.add_worker()
    wait_for(lambda: examples(tmp_path / "out") >= 128, process)
    cluster.restart_scheduler(after=2.0)
    # A worker ends when its scheduler does; Kubernetes and Slurm start others, and so does this test.
    cluster.add_worker()
    errors = finish(process)
    assert "no worker yet" in errors
    assert "is gone; waiting for it" in errors
    assert "the Dask scheduler is back" in errors
    finish(start(tmp_path / "one", *arguments, "--workers", 1))
    assert substance(tmp_path / "out") == substance(tmp_path / "one")


def test_a_scheduler_that_stays_away_ends_the_campaign_in_one_line_and_it_can_be_resumed(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASK_RELAXFUZZ__PATIENCE", "3")
    cluster.add_worker()
    arguments = (*PASSES, "--max-examples", 640)
    process = start(tmp_path / "out", *arguments, "--dask", cluster.address)
    wait_for(lambda: examples(tmp_path / "out") >= 64, process)
    end(cluster.scheduler)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 2, errors
    assert "has been gone for 3 s; what was recorded is kept" in errors
    assert "Traceback" not in errors
    finish(start(tmp_path / "out", *arguments, "--workers", 2))
    finish(start(tmp_path / "one", *arguments, "--workers", 1))
    assert substance(tmp_path / "out") == substance(tmp_path / "one")


def test_ctrl_c_records_what_was_judged_and_leaves_no_process(tmp_path: Path) -> None:
    before = {each.pid for each in psutil.process_iter()}
    arguments = (*PASSES, "--max-examples", 960)
    process = subprocess.Popen(
        [*PROGRAM, "run", "--out", str(tmp_path / "out"), "--seed", "5", *map(str, arguments), "--dask", "local:2"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    wait_for(lambda: examples(tmp_path / "out") >= 64, process)
    children = psutil.Process(process.pid).children(recursive=True)
    for each in [psutil.Process(process.pid), *children]:
        each.send_signal(signal.SIGINT)  # as a terminal does
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert "interrupted; run the same command again to resume" in errors
    _, alive = psutil.wait_procs(children, timeout=10)
    assert [each for each in alive if each.pid not in before] == []
    finish(start(tmp_path / "out", *arguments, "--workers", 2))
    finish(start(tmp_path / "one", *arguments, "--workers", 1))
    assert substance(tmp_path / "out") == substance(tmp_path / "one")


def test_a_campaign_whose_time_is_up_ends_though_nobody_works_for_it(tmp_path: Path, cluster: Cluster) -> None:
    process = start(tmp_path / "out", *PASSES, "--time", "2s", "--dask", cluster.address)
    errors = finish(process)
    assert "no worker yet" in errors
    assert examples(tmp_path / "out") == 0


def test_a_worker_of_another_relaxfuzz_is_not_used_and_the_loss_of_the_fitting_one_is_made_good(
    tmp_path: Path, cluster: Cluster
) -> None:
    other = tmp_path / "other"
    for room in ("relaxkit", "strategies", "oracles", "fuzzer"):
        shutil.copytree(Path(str(importlib.import_module(room).__file__)).parent, other / room)
    (other / "oracles" / "verdict.py").open("a").write("# another version\n")
    cluster.add_worker(("env", f"PYTHONPATH={other}"))
    fitting = cluster.add_worker()
    arguments = (*PASSES, "--max-examples", 320)
    process = start(tmp_path / "out", *arguments, "--dask", cluster.address)
    wait_for(lambda: examples(tmp_path / "out") >= 64, process)
    end(fitting)
    cluster.add_worker()
    errors = finish(process)
    assert errors.count("is not used: it has relaxfuzz ") == 1
    finish(start(tmp_path / "one", *arguments, "--workers", 1))
    assert substance(tmp_path / "out") == substance(tmp_path / "one")
