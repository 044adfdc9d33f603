"""Checks of the machine without TVM: the compiler, processors, memory, disks, optional packages."""

from __future__ import annotations

import contextlib
import ctypes
import enum
import os
import platform as system
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from fuzzer.campaign.setup import cores
from fuzzer.core.installed import MISSING, NO_COMPILER, compiler, version_or_missing
from fuzzer.core.text import first_line
from fuzzer.store.database import FILE_NAME, StoreError, connect, store_error, take_lock
from fuzzer.worker.worker import RECYCLE_RSS

_MIB = 1 << 20
_LEAST_DISK = 100 * _MIB
"""A short campaign with its report takes a tenth of it."""
_GOOD_DISK = 1024 * _MIB
_LIMIT = 60.0
_ANSWER = 42
_PROBE = f"""
#include <vector>
extern "C" int answer() {{ return std::vector<int>(1, {_ANSWER}).back(); }}
"""
_CACHE_VARIABLE = "RELAXFUZZ_CACHE"  # relaxkit.runtime.compile.diskcache, which cannot be asked without TVM
_CONTROL_GROUPS = Path("/sys/fs/cgroup")


class Health(enum.Enum):
    """The ways in which a check ends."""

    OK = "ok"
    WARN = "warn"  # works without it; the line says at what price
    FAIL = "fail"  # a campaign needs it


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One thing that was tried.

    Attributes:
        name: What.
        health: How it ended.
        found: What was seen, in a few words.
        remedy: What it costs, or what mends it; empty when nothing is amiss.
    """

    name: str
    health: Health
    found: str
    remedy: str = ""

    def __str__(self) -> str:
        return "; ".join(filter(None, (self.found, self.remedy)))


def ok(name: str, found: str) -> HealthCheck:
    """Return a check that ended well."""
    return HealthCheck(name, Health.OK, found)


@dataclass(frozen=True, slots=True)
class _Extra:
    """An optional package: the extra that brings it, the package itself, what needs it."""

    name: str
    package: str
    purpose: str


_EXTRAS = (
    _Extra("dask", "distributed", "campaigns over several machines (run --dask)"),
    _Extra("completion", "shtab", "relaxfuzz completion"),
    _Extra("docs", "properdocs", "building the documentation site"),
    _Extra("browser", "playwright", "testing the HTML report in a browser"),
)


def platform() -> HealthCheck:
    """Check that this is a system that processes can be isolated on."""
    found = f"Python {system.python_version()}, {system.system()} {system.release()} on {system.machine()}"
    if sys.platform != "linux":
        return HealthCheck("system", Health.FAIL, found, "workers need Linux")
    if system.machine() not in ("x86_64", "AMD64"):
        return HealthCheck("system", Health.WARN, found, "tested on x86-64 only")
    return ok("system", found)


def cxx() -> HealthCheck:
    """Check that a C++ compiler makes libraries which can be loaded; a campaign can do without."""
    name = "C++ compiler"
    path = compiler()
    if path is None:
        return HealthCheck(name, Health.WARN, NO_COMPILER)
    try:
        with tempfile.TemporaryDirectory(prefix="relaxfuzz-doctor-") as folder:
            source, library = Path(folder) / "probe.cc", Path(folder) / "probe.so"
            source.write_text(_PROBE, encoding="ascii")
            command = [path, "-shared", "-fPIC", "-o", str(library), str(source)]
            done = subprocess.run(  # in the folder: the linker takes libraries from where it runs
                command, capture_output=True, text=True, errors="replace", timeout=_LIMIT, cwd=folder
            )
            if done.returncode == 0 and ctypes.CDLL(str(library)).answer() == _ANSWER:
                return ok(name, f"{path} built a library, which was loaded")
            reason = first_line(done.stderr, "its output does not work")
    except (OSError, subprocess.TimeoutExpired, AttributeError) as error:
        reason = first_line(str(error))
    return HealthCheck(name, Health.WARN, f"{path} fails: {reason}", NO_COMPILER.partition(": ")[2])


def processors() -> HealthCheck:
    """Check the processors that this process may use, and what its control group leaves of them."""
    count = cores()
    found = f"{count} usable"
    quota, _, period = _control_group("cpu.max").partition(" ")
    if quota.isdigit() and period.isdigit() and int(quota) < count * int(period):
        share = int(quota) / int(period)
        return HealthCheck(
            "cores", Health.WARN, f"{found}, and a quota of {share:g}", f"--workers {max(1, int(share))}"
        )
    return ok("cores", found)


def memory() -> HealthCheck:
    """Check that as many workers fit as there are processors, each grown to where it is replaced."""
    free = psutil.virtual_memory().available
    limit = _control_group("memory.max")
    if limit.isdigit():
        used = _control_group("memory.current")
        free = min(free, int(limit) - (int(used) if used.isdigit() else 0))
    fit = free // RECYCLE_RSS
    found = f"{free / (1 << 30):.1f} GiB free"
    if fit < 1:
        return HealthCheck("memory", Health.FAIL, found, f"a worker may grow to {RECYCLE_RSS / (1 << 30):.1f} GiB")
    if fit < cores():
        return HealthCheck("memory", Health.WARN, found, f"--workers {fit}: each may grow to {RECYCLE_RSS >> 20} MiB")
    return ok("memory", found)


def out_directory(place: Path) -> HealthCheck:
    """Check that a campaign can be recorded there: space, SQLite with its write-ahead log, a lock."""
    name = "disk of the campaign"
    there = _existing(place)
    try:
        with _scratch(there) as scratch:
            os.close(take_lock(scratch))
            connection = connect(scratch / FILE_NAME)
            with contextlib.closing(connection):
                connection.execute("CREATE TABLE tried (value)")
                mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    except (OSError, StoreError) as error:
        return HealthCheck(
            name, Health.FAIL, f"'{there}' cannot be written: {getattr(error, 'strerror', None) or error}"
        )
    except sqlite3.Error as error:
        return HealthCheck(name, Health.FAIL, str(store_error(error, there)))
    if mode != "wal":
        return HealthCheck(
            name, Health.FAIL, f"SQLite cannot keep a write-ahead log in '{there}'", "use an --out on a local disk"
        )
    return _space(name, there, Health.FAIL)


def temporary_directory() -> HealthCheck:
    """Check that there is room for what workers leave to each other and for the scripts that are tried."""
    name = "temporary disk"
    try:
        place = Path(tempfile.gettempdir())
        with _scratch(place):
            return _space(name, place, Health.FAIL)
    except OSError as error:
        return HealthCheck(
            name, Health.FAIL, f"no temporary directory can be written: {error.strerror or error}", "TMPDIR"
        )


def cache_directory(place: Path) -> HealthCheck:
    """Check that compiled kernels can be kept there; without it each process compiles them anew."""
    name = "kernel cache"
    try:
        with _scratch(_existing(place)) as scratch:
            return _space(name, scratch.parent, Health.WARN)
    except OSError as error:
        cost = f"each process compiles its kernels again; set {_CACHE_VARIABLE} to another place"
        return HealthCheck(name, Health.WARN, f"'{place}' cannot be written: {error.strerror or error}", cost)


def extras() -> list[HealthCheck]:
    """Check the optional packages, and say what is not there without them."""
    found = []
    for extra in _EXTRAS:
        version = version_or_missing(extra.package)
        label = f"extra '{extra.name}'"
        if version == MISSING:
            remedy = f"needed for {extra.purpose}: pip install 'relaxfuzz[{extra.name}]'"
            found.append(HealthCheck(label, Health.WARN, f"{extra.package} is not installed", remedy))
        else:
            found.append(ok(label, f"{extra.package} {version}: {extra.purpose}"))
    return found


def _space(name: str, place: Path, otherwise: Health) -> HealthCheck:
    free = shutil.disk_usage(place).free
    found = f"{place}: {free / (1 << 30):.1f} GiB free, and writable"
    if free < _LEAST_DISK:
        return HealthCheck(name, otherwise, found, f"at least {_LEAST_DISK // _MIB} MiB are needed")
    if free < _GOOD_DISK:
        return HealthCheck(name, Health.WARN, found, "too little space for a whole night")
    return ok(name, found)


def _existing(place: Path) -> Path:
    """Return the directory, or what is there of the way to it."""
    path = place.absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


@contextlib.contextmanager
def _scratch(place: Path) -> Iterator[Path]:
    """Give a directory in it that something was written to and forced to disk, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-doctor-", dir=place) as folder:
        with (Path(folder) / "written").open("wb") as file:
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
        yield Path(folder)


def _control_group(name: str) -> str:
    """Return a value of the control group that this process is in (version 2), empty where there is none."""
    with contextlib.suppress(OSError):
        own = Path("/proc/self/cgroup").read_text(encoding="ascii").strip().rpartition("::")[2]
        for folder in (_CONTROL_GROUPS / own.lstrip("/"), _CONTROL_GROUPS):
            if (folder / name).is_file():
                return (folder / name).read_text(encoding="ascii").strip()
    return ""
