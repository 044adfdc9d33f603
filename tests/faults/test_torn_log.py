"""A write-ahead log that was torn off or scribbled over: what was recorded before the tear stands, in whole pieces."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from sample_records import META, hit, shard
from turns import TURN, record

from fuzzer.store.writer import FILE_NAME, Store

LOG = f"{FILE_NAME}-wal"
PIECES = 24
_HEADER = 32
"""Bytes of the log's own header."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign as a kill leaves it: everything but its beginning is in the log."""
    directory, copy = tmp_path_factory.mktemp("writer"), tmp_path_factory.mktemp("killed")
    with Store.create(directory, META) as store:
        for number in range(PIECES):
            store.record_shard(shard(number, hit("boom", 1, 2, "x" * 3000)), float(number))
        for name in (FILE_NAME, LOG):
            shutil.copyfile(directory / name, copy / name)
    return copy


def _torn(written: Path, directory: Path, at: int, rest: bytes) -> int:
    """Tear the log at a place, put something behind it; returns how many pieces are there then."""
    directory.mkdir()
    shutil.copyfile(written / FILE_NAME, directory / FILE_NAME)
    (directory / LOG).write_bytes((written / LOG).read_bytes()[:at] + rest)
    with Store.open(directory, read_only=False) as store:
        there = store.shards()
        assert there == dict.fromkeys(range(len(there)), 64), "a beginning of what was recorded, each piece whole"
        assert store.info().examples == 64 * len(there)
        assert sum(tally.count for tally in store.tallies()) == 64 * len(there)
        assert [finding.count for finding in store.findings()] == ([2 * len(there)] if there else [])
        for number in range(len(there), PIECES):  # a resume runs the rest again
            store.record_shard(shard(number, hit("boom", 1, 2, "x" * 3000)), float(number))
        assert store.info().examples == 64 * PIECES
    with Store.open(directory) as store:
        assert sum(tally.count for tally in store.tallies()) == 64 * PIECES
    return len(there)


def _tears(written: Path, folder: Path, many: int) -> list[int]:
    chance = random.Random(many + TURN)
    size = (written / LOG).stat().st_size
    left = []
    for number in range(many):
        at = chance.randrange(size)
        rest = (b"", chance.randbytes(size - at), b"\0" * (size - at))[number % 3]
        left.append(_torn(written, folder / str(number), at, rest))
        shutil.rmtree(folder / str(number))
    return left


def test_a_torn_log_keeps_a_beginning(written: Path, tmp_path: Path) -> None:
    left = _tears(written, tmp_path, 30)
    assert len(set(left)) > 5, "or else this test says little"
    assert max(left) < PIECES


@pytest.mark.slow
def test_a_thousand_torn_logs(written: Path, tmp_path: Path) -> None:
    left = _tears(written, tmp_path, 1000)
    assert set(range(PIECES)) <= set(left), "a tear in every piece"
    record({"torn log": len(left)})


def test_a_log_that_is_whole_loses_nothing(written: Path, tmp_path: Path) -> None:
    size = (written / LOG).stat().st_size
    assert _torn(written, tmp_path / "whole", size, b"") == PIECES
    assert _torn(written, tmp_path / "header", _HEADER, b"") == 0
