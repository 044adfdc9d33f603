"""Messages between a campaign and a Dask worker: tasks, results, and the files that a task needs.

A worker has nothing of the campaign's directory, nor of any other of its machine. Files of the user's passes and the
seed collection go with the tasks, are written into a folder of the worker's own, and the places named in a task and in
its result are exchanged, so that a result reads as if it had been made where the campaign is.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.util
import platform
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from fuzzer.core.installed import FFI, TVM, installed
from fuzzer.store.records import LazyPickle

if TYPE_CHECKING:
    from fuzzer.core.config import Config
    from fuzzer.shard.shard import ShardTask
    from fuzzer.store.records import ShardResult
    from fuzzer.triage.finding import TriageJob, TriageResult

T = TypeVar("T")

_DECIDING = ("relaxkit", "strategies", "oracles", "fuzzer")
"""The packages whose code decides what a shard gives."""


class WorkerMismatch(Exception):
    """A worker that would give other results: its address, and what differs."""


class WorkerFault(Exception):
    """A worker that cannot do its work, for instance because its disk is full: its address, and why."""


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file that tasks need.

    Attributes:
        place: How tasks name it: the file itself, or the directory that it lies in.
        name: Name of the file.
        inside: Whether ``place`` is the directory.
        content: Its bytes.
    """

    place: str
    name: str
    inside: bool
    content: bytes


@dataclass(frozen=True, slots=True)
class ShardRequest:
    """Shards for a worker.

    Attributes:
        session: Which session of which campaign they are of.
        fit: What the worker must have.
        tasks: The shards, at least one.
        seconds: After so long no further one of them is begun.
    """

    session: str
    fit: Mapping[str, str]
    tasks: tuple[ShardTask, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class TriageRequest:
    """A finding for a worker to look into; as :class:`ShardRequest`, with the limits of its processes."""

    session: str
    fit: Mapping[str, str]
    config: Config
    job: TriageJob


@dataclass(frozen=True, slots=True)
class ShardReply:
    """Results of the first shards of a parcel, at least of one, and what TVM printed meanwhile."""

    results: tuple[ShardResult, ...]
    log: bytes


@dataclass(frozen=True, slots=True)
class TriageReply:
    """Result of triage, the text of the script, and what TVM printed meanwhile."""

    result: TriageResult
    script: str | None
    log: bytes


def needed_files(config: Config) -> tuple[SentFile, ...]:
    """The files that shards of this configuration read.

    Raises:
        OSError: when one of them cannot be read.
    """
    users = [ref.place for ref in config.user_passes]
    files = [
        SentFile(where, Path(where).name, False, Path(where).read_bytes())
        for where in (*users, *config.plugins)
        if where.endswith(".py")
    ]
    if config.seeds:
        from strategies.seeds.file import FILE_NAME

        files.append(SentFile(config.seeds, FILE_NAME, True, (Path(config.seeds) / FILE_NAME).read_bytes()))
    return tuple(dict.fromkeys(files))


def unpack(files: Iterable[SentFile], folder: Path) -> dict[str, str]:
    """Write the files into ``folder``; the places that stand for theirs there. Raises ``OSError``."""
    places = {}
    for file in files:
        digest = hashlib.sha256(file.place.encode() + b"\0" + file.content).hexdigest()[:16]
        path = folder / digest / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        places[file.place] = str(path.parent if file.inside else path)
    return places


def relocated(value: T, places: Mapping[str, str]) -> T:
    """``value`` with every text in it naming the places on the right instead of those on the left."""
    return cast("T", _relocated(value, places)) if places else value


def _relocated(value: Any, places: Mapping[str, str]) -> Any:
    if type(value) is str:
        for old, new in places.items():
            value = value.replace(old, new)
        return value
    if isinstance(value, Counter):
        return Counter({_relocated(key, places): count for key, count in value.items()})
    if isinstance(value, dict):
        return {_relocated(key, places): _relocated(each, places) for key, each in value.items()}
    if type(value) in (tuple, list, set, frozenset):
        return type(value)(_relocated(each, places) for each in value)
    if isinstance(value, LazyPickle):
        inside = _relocated(value.value, places)
        return value if inside is value.value else LazyPickle(inside)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {}
        for field in dataclasses.fields(value):
            before = getattr(value, field.name)
            after = _relocated(before, places)
            if after is not before and after != before:
                changes[field.name] = after
        return dataclasses.replace(value, **changes) if changes else value
    return value


@functools.cache
def environment_key() -> Mapping[str, str]:
    """List what decides results beside the task: versions and our own code; equal on all workers of a campaign."""
    versions = installed()
    return {
        TVM: versions.tvm, FFI: versions.ffi, "numpy": metadata.version("numpy"),
        "hypothesis": metadata.version("hypothesis"), "python": ".".join(platform.python_version_tuple()[:2]),
        "machine": platform.machine(), "relaxfuzz": f"{metadata.version('relaxfuzz')} ({_code()})",
    }  # fmt: skip


def mismatch(wanted: Mapping[str, str], found: Mapping[str, str]) -> str:
    """Describe what of a worker is not as it must be; empty when all is."""
    return ", ".join(
        f"{name} {found.get(name)}, not {value}" for name, value in wanted.items() if found.get(name) != value
    )


def _code() -> str:
    """A hash of the source code that decides what a shard gives."""
    digest = hashlib.sha256()
    for package in _DECIDING:
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        root = Path(spec.origin).parent
        for path in sorted(root.rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:10]
