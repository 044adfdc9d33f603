from __future__ import annotations

import hashlib
import multiprocessing
import os
from pathlib import Path

import pytest
import tvm

from relaxkit.runtime import KernelCache
from relaxkit.runtime.compile import diskcache
from relaxkit.runtime.compile.diskcache import DEFAULT_LIMIT, DiskCache, default_directory


def test_two_gibibytes_are_kept_unless_told_otherwise(tmp_path: Path) -> None:
    assert DiskCache(tmp_path).limit == DEFAULT_LIMIT == 2 * 1024**3


def test_what_was_stored_is_loaded(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    assert cache.load("ab12") is None
    cache.store(["ab12"], b"payload")
    assert DiskCache(tmp_path).load("ab12") == b"payload"


_EMPTY = diskcache._MAGIC + hashlib.sha256(b"").digest()


@pytest.mark.parametrize("damage", [b"", b"relaxfuzz-object-2\n", b"\0" * 100, _EMPTY])
def test_a_damaged_entry_is_dropped(tmp_path: Path, damage: bytes) -> None:
    cache = DiskCache(tmp_path)
    cache.store(["ab12"], b"payload")
    (path,) = tmp_path.rglob("*.o")
    path.write_bytes(damage)
    assert cache.load("ab12") is None
    assert not path.exists()
    cache.store(["ab12"], b"payload")
    assert cache.load("ab12") == b"payload"


def test_a_changed_byte_is_noticed(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    cache.store(["ab12"], b"payload")
    (path,) = tmp_path.rglob("*.o")
    path.write_bytes(path.read_bytes()[:-1] + b"X")
    assert cache.load("ab12") is None


def test_the_least_recently_used_entries_go_first(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, limit=10_000)
    for number in range(20):
        cache.store([f"{number:02d}key"], bytes(1000))
    for age, path in enumerate(sorted(tmp_path.rglob("*.o"))):
        os.utime(path, ns=(age, age))
    assert cache.load("00key") is not None  # the oldest becomes the newest
    assert cache.sweep() > 0
    kept = list(tmp_path.rglob("*.o"))
    assert sum(path.stat().st_size for path in kept) <= 9_000
    assert {path.stem for path in kept} >= {"00key", "19key"}
    assert "01key" not in {path.stem for path in kept}


def test_keys_that_share_a_payload_share_its_bytes(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    cache.store(["ab12", "cd34", "cd56"], b"payload")
    assert [cache.load(key) for key in ("ab12", "cd34", "cd56")] == [b"payload"] * 3
    assert {path.stat().st_nlink for path in tmp_path.rglob("*.o")} == {3}
    cache.store(["cd34"], b"other")
    assert (cache.load("cd34"), cache.load("ab12")) == (b"other", b"payload")
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_payload_counts_once_however_many_keys_it_has(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, limit=10_000)
    cache.store([f"{number:02d}key" for number in range(20)], bytes(5000))
    assert cache.sweep() == 0


def test_where_there_are_no_hard_links_payloads_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    cache = DiskCache(tmp_path)
    cache.store(["ab12", "cd34"], b"payload")
    assert [cache.load(key) for key in ("ab12", "cd34")] == [b"payload"] * 2
    assert not list(tmp_path.rglob("*.tmp"))


def test_the_directory_stays_near_its_limit_without_being_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diskcache, "_SECONDS_BETWEEN_SWEEPS", 0.0)
    monkeypatch.setattr(diskcache, "_STORES_BETWEEN_SWEEPS", 8)
    cache = DiskCache(tmp_path, limit=10_000)
    for number in range(50):
        cache.store([f"{number:02d}key"], bytes(1000))
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.o")) <= 10_000 + 8 * 1_060


def test_a_directory_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    cache = DiskCache(blocked)
    cache.store(["ab12"], b"payload")
    assert cache.load("ab12") is None


def _hammer(directory: str) -> int:
    cache, wrong = DiskCache(Path(directory), limit=40_000), 0
    for turn in range(300):
        key = f"{turn % 7:02d}key"
        cache.store([key], key.encode() * 1000)
        found = cache.load(key)
        wrong += found is not None and found != key.encode() * 1000
        if turn % 50 == 0:
            cache.sweep()
    return wrong


def test_several_processes_share_a_directory(tmp_path: Path) -> None:
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert pool.map(_hammer, [str(tmp_path)] * 4) == [0] * 4
    assert not list(tmp_path.rglob("*.tmp"))


def test_the_directory_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RELAXFUZZ_CACHE", str(tmp_path / "own"))
    assert default_directory() == tmp_path / "own"
    monkeypatch.delenv("RELAXFUZZ_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_directory() == tmp_path / "relaxfuzz"


def test_an_entry_under_another_key_is_none(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    cache.store(["ab12", "ab13"], b"one")
    cache.store(["cd34"], b"other")
    places = {path.stem: path for path in tmp_path.rglob("*.o")}
    places["cd34"].write_bytes(places["ab12"].read_bytes())
    assert cache.load("cd34") is None
    assert [cache.load(key) for key in ("ab12", "ab13")] == [b"one", b"one"]


def test_a_directory_that_others_may_write_to_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = DiskCache(tmp_path / "new" / "cache")
    cache.store(["ab12"], b"one")
    assert cache.directory.stat().st_mode & 0o777 == 0o700
    assert cache.load("ab12") == b"one"
    cache.directory.chmod(0o770)
    assert cache.load("ab12") is None
    cache.store(["cd34"], b"other")
    cache.directory.chmod(0o700)
    assert (cache.load("ab12"), cache.load("cd34")) == (b"one", None)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert cache.load("ab12") is None


def test_an_entry_that_others_can_have_put_there_is_not_loaded(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "cache")
    cache.store(["ab12"], b"payload")
    folder = tmp_path / "cache" / "ab"
    entry = folder / "ab12.o"
    folder.chmod(0o777)
    assert cache.load("ab12") is None
    folder.chmod(0o700)
    entry.chmod(0o666)
    assert cache.load("ab12") is None
    entry.chmod(0o600)
    assert cache.load("ab12") == b"payload"
    entry.rename(tmp_path / "elsewhere")
    entry.symlink_to(tmp_path / "elsewhere")
    assert cache.load("ab12") is None
    entry.unlink()
    os.mkfifo(entry)
    assert cache.load("ab12") is None
    entry.unlink()
    (tmp_path / "elsewhere").rename(entry)
    folder.rename(tmp_path / "folder")
    folder.symlink_to(tmp_path / "folder")
    assert cache.load("ab12") is None


def test_a_sweep_leaves_the_files_of_others(tmp_path: Path) -> None:
    for name in ("thesis.doc", "ab.o", ".profile"):
        (tmp_path / name).write_bytes(bytes(1000))
    cache = DiskCache(tmp_path, limit=100)
    cache.store(["ab12"], bytes(1000))
    assert not (tmp_path / "ab" / "ab12.o").exists()
    assert {each.name for each in tmp_path.iterdir()} >= {"thesis.doc", "ab.o", ".profile"}


def test_a_cache_for_another_target_has_no_directory(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one target"):
        KernelCache(DiskCache(tmp_path), target=tvm.target.Target("llvm"))
