"""The workers' log stays small, whoever has it open."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import victims

from fuzzer.worker import session_files as logfile
from fuzzer.worker.worker import IsolatedWorker


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logfile, "MOST_BYTES", 1000)
    monkeypatch.setattr(logfile, "KEPT_BYTES", 100)


def test_the_end_is_kept_in_whole_lines(tmp_path: Path) -> None:
    log = tmp_path / "workers.log"
    log.write_text("".join(f"line {number:03d}\n" for number in range(200)))
    logfile.bound_log(log)
    first, *lines = log.read_text().splitlines()
    assert first == "[the log was longer: this is its end]"
    assert lines == [f"line {number:03d}" for number in range(189, 200)]


def test_a_small_log_and_none_are_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "workers.log"
    logfile.bound_log(log)
    assert not log.exists()
    log.write_bytes(b"x" * 1000)
    logfile.bound_log(log)
    assert log.read_bytes() == b"x" * 1000


def test_a_process_that_has_it_open_goes_on_at_its_end(tmp_path: Path) -> None:
    log = tmp_path / "workers.log"
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, b"noise\n" * 1000)
    logfile.bound_log(log)
    os.write(descriptor, b"last\n")
    os.close(descriptor)
    assert log.stat().st_size < 200
    assert log.read_bytes().endswith(b"noise\nlast\n")


def test_a_worker_that_is_kept_bounds_it_too(tmp_path: Path) -> None:
    log = tmp_path / "workers.log"
    with IsolatedWorker(log=log) as worker:
        for _ in range(60):
            worker.call(victims.noise, None)
        assert log.stat().st_size < 1100
