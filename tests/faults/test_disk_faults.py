"""Disks that are full or read-only, real ones: a file system of the test's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from turns import record

HERE = Path(__file__).parent
_RECORDS = str(HERE.parent / "fuzzer")
_ALONE = ("unshare", "--user", "--map-root-user", "--mount")
"""A mount that nobody else sees."""


def _possible() -> bool:
    try:
        return subprocess.run([*_ALONE, "true"], capture_output=True, timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


pytestmark = pytest.mark.skipif(not _possible(), reason="this machine lets nobody mount a file system of their own")

_FULL = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from sample_records import META, hit, shard
from fuzzer.store.writer import Store, StoreError
disk = Path(sys.argv[1])
directory, filler = disk / "out", disk / "filler"
faults, done = 0, 0
filler.write_bytes(b"x" * (600 << 10))
store = Store.create(directory, META)
while done < 400:
    try:
        store.record_shard(shard(done, hit(f"boom {chr(97 + done % 26)}", 1, 2, str(done) * 1500)), float(done))
        done += 1
    except StoreError as error:
        assert str(error).startswith("the disk is full") and "\\n" not in str(error), error
        faults += 1
        store.close()
        if faults % 2:
            with Store.open(directory) as reader:  # a full disk can be read
                assert reader.shards() == dict.fromkeys(range(done), 64)
        filler.unlink(missing_ok=True)
        store = Store.open(directory, read_only=False)
        assert store.shards() == dict.fromkeys(range(done), 64), "what was told is there, and no more"
        assert sum(tally.count for tally in store.tallies()) == 64 * done
        if filler.exists() or faults > 3:
            break
store.close()
print(faults, done)
"""

_READ_ONLY = """
import subprocess, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from sample_records import META, hit, shard
from fuzzer.store.writer import Store, StoreError
directory = Path(sys.argv[1]) / "out"
with Store.create(directory, META) as store:
    for number in range(5):
        store.record_shard(shard(number, hit("boom", 1)), float(number))
subprocess.run(["mount", "-o", "remount,ro", sys.argv[1]], check=True)
with Store.open(directory) as reader:
    assert reader.shards() == dict.fromkeys(range(5), 64)
    assert [each.count for each in reader.findings()] == [5]
for act in (lambda: Store.open(directory, read_only=False), lambda: Store.create(directory / "new", META)):
    try:
        act()
    except StoreError as error:
        print(error)
"""


def on_disk(tmp_path: Path, program: str, size: str = "4m") -> subprocess.CompletedProcess[str]:
    """Run a program on a small file system; its arguments are the mount point and where the records are."""
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f"mount -t tmpfs -o size={size} none '{disk}' && exec '{sys.executable}' - '{disk}' '{_RECORDS}'"
    return subprocess.run(
        [*_ALONE, "sh", "-c", script], input=program, capture_output=True, text=True, timeout=120, check=False
    )


def test_a_disk_that_fills_loses_nothing_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    done = on_disk(tmp_path, _FULL, "1m")
    assert done.returncode == 0, done.stderr
    faults, recorded = map(int, done.stdout.split())
    assert faults >= 1
    record({"full disk": faults})
    assert recorded > 20


def test_a_read_only_disk_can_be_read_and_is_told_of_in_a_line(tmp_path: Path) -> None:
    done = on_disk(tmp_path, _READ_ONLY)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2, lines
    assert all("ead-only file system" in line for line in lines), lines
    record({"read-only disk": len(lines)})


@pytest.mark.parametrize(("options", "complaint"), [("size=4k", "the disk is full"), ("ro", "ead-only file system")])
def test_a_campaign_on_a_disk_without_room_ends_in_one_line(tmp_path: Path, options: str, complaint: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    program = Path(sys.executable).parent / "relaxfuzz"
    script = (
        f"mount -t tmpfs -o {options} none '{disk}' && "
        f"exec '{program}' run --out '{disk}/out' --seed 1 --passes Normalize --oracles crash --max-examples 5"
    )
    done = subprocess.run([*_ALONE, "sh", "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("relaxfuzz: error:")]
    assert complaint in line
    assert "Traceback" not in done.stderr
