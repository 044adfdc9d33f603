"""Reaching a Dask cluster: what is asked for wrongly, or does not answer, is one line."""

from __future__ import annotations

import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from fuzzer.campaign.setup import merged
from fuzzer.core.config import ConfigError


def test_dask_and_workers_exclude_each_other_and_the_command_line_wins(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="give --workers or --dask, not both"):
        merged({"workers": "2", "dask": "local:2"})
    file = tmp_path / "campaign.toml"
    file.write_text("workers = 2\nseed = 1\n")
    assert merged({"dask": "local:2", "config": file}) == {"dask": "local:2", "seed": "1"}
    file.write_text('dask = "tcp://there:8786"\n')
    assert merged({"config": file}) == {"dask": "tcp://there:8786"}
    assert merged({"workers": "3", "config": file}) == {"workers": "3"}


def test_without_dask_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from fuzzer.cluster.dask_client import MISSING, DaskConnection

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigError) as caught:
        DaskConnection("local:2", print)
    assert str(caught.value) == MISSING


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("local:0", "the number of workers 0 is not between 1 and 256"),
        ("local:many", "the number of workers 'many' is not a whole number"),
        ("local", "the number of workers '' is not a whole number"),
        ("", "neither an address, nor a scheduler file, nor local:N"),
        ("nonsense://there", "no Dask scheduler answers at 'nonsense://there'"),
        ("there", "no Dask scheduler answers at 'there'"),
        pytest.param("/no/such.json", "no Dask scheduler answers at '/no/such.json'", marks=pytest.mark.slow),
    ],
)
def test_what_is_no_cluster_is_told_in_one_line_and_leaves_no_thread(
    where: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="Dask's scheduler is not installed: pip install 'relaxfuzz[dask]'")
    from fuzzer.cluster import dask_client as dask_link

    monkeypatch.setattr(dask_link, "_CONNECT", 1.0)
    with pytest.raises(ConfigError) as caught:
        dask_link.DaskConnection(where, print)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "relaxfuzz-dask" not in {thread.name for thread in threading.enumerate()}


def test_a_port_that_nobody_listens_on_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="Dask's scheduler is not installed: pip install 'relaxfuzz[dask]'")
    from fuzzer.cluster import dask_client as dask_link

    monkeypatch.setattr(dask_link, "_CONNECT", 1.0)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(ConfigError, match=f"no Dask scheduler answers at 'tcp://127.0.0.1:{port}'"):
        dask_link.DaskConnection(f"tcp://127.0.0.1:{port}", print)


@pytest.mark.slow
def test_a_scheduler_that_has_gone_is_waited_for_and_then_given_up_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    dask = pytest.importorskip("dask", reason="Dask's scheduler is not installed: pip install 'relaxfuzz[dask]'")
    from dask_cluster import Cluster, end

    from fuzzer.cluster import dask_client as dask_link
    from fuzzer.cluster.executor import ExecutorError

    monkeypatch.setattr(dask_link, "_CONNECT", 1.0)
    lines: list[str] = []
    with Cluster(tmp_path) as cluster, dask.config.set({"relaxfuzz.patience": 2.0}):
        with dask_link.DaskConnection(cluster.address, lines.append) as link:
            assert link.submit(link.client()).result(timeout=60).status == "running"
            end(cluster.scheduler)
            wait_for_line(lines, "is gone; waiting for it")
            with pytest.raises(ExecutorError, match="has been gone for 2 s; what was recorded is kept"):
                link.submit(link.client()).result(timeout=120)
        assert lines == [
            "Dask: no worker yet; waiting for one",
            f"the Dask scheduler at {cluster.address} is gone; waiting for it",
        ]
    printed = capfd.readouterr()
    assert printed.out + printed.err == ""


def wait_for_line(lines: list[str], text: str) -> None:
    deadline = time.monotonic() + 120
    while not any(text in line for line in lines):
        assert time.monotonic() < deadline, lines
        time.sleep(0.05)
