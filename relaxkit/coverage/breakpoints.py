"""Which blocks of TVM's compiler this process reaches, by breakpoints that are hit once (``breakpoints.c``)."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from relaxkit.coverage.elf import CoverageError, Library
from relaxkit.coverage.table import FORMAT, BlockTable, make_table
from relaxkit.runtime.compile.diskcache import DiskCache, default_directory

_NAMES = ("libtvm_compiler.so", "libtvm.so")
_FLAGS = ("-O2", "-shared", "-fPIC")


def loaded(names: tuple[str, ...] = _NAMES) -> tuple[Path, int]:
    """Return the library of that name that this process has loaded, and where its code is; raises ``CoverageError``."""
    maps = Path("/proc/self/maps")
    if sys.platform == "linux" and maps.exists():
        for line in maps.read_text().splitlines():
            fields = line.split(maxsplit=5)
            if len(fields) == 6 and "x" in fields[1] and os.path.basename(fields[5]) in names:
                return Path(fields[5]), int(fields[0].partition("-")[0], 16) - int(fields[2], 16)
    raise CoverageError(f"no {names[0]} is loaded here")


def has_table(build: str) -> bool:
    """Say whether the cache has the table of a build's blocks."""
    return _cached(_table_key(build)) is not None


@functools.cache
def table_of(path: Path) -> BlockTable:
    """Return the table of a library's blocks, made once and kept in the cache; raises ``CoverageError``."""
    library = Library(path)
    key = _table_key(library.build)
    packed = _cached(key)
    if packed is None:
        try:
            packed = make_table(library).to_bytes()
        except ImportError as error:
            raise CoverageError("the table of blocks needs capstone: pip install 'relaxfuzz[coverage]'") from error
        _keep(key, packed)
    return BlockTable.from_bytes(packed)


def prepare() -> str:
    """Make what :func:`watch_compiler` needs, and return the build id of TVM's compiler; raises ``CoverageError``."""
    path, _ = loaded()
    build = table_of(path).build
    _machine_code()
    if not has_table(build):
        raise CoverageError(f"'{default_directory()}' cannot keep the table of blocks: it must be this user's alone")
    return build


def watch_compiler(build: str) -> Breakpoints:
    """Set breakpoints in TVM's compiler, which must have this build id; raises ``CoverageError``."""
    path, origin = loaded()
    table = table_of(path)
    if table.build != build:
        raise CoverageError(f"TVM's compiler here is build {table.build}, not {build}")
    return Breakpoints(path, origin, table.blocks)


class Breakpoints:
    """Breakpoints in a loaded library; one set of them a process.

    Args:
        path: The library.
        origin: Where in memory the beginning of its file is, by the place of its code.
        blocks: Addresses of its blocks, ascending.

    Raises:
        CoverageError: when they cannot be set.
    """

    def __init__(self, path: Path, origin: int, blocks: Any) -> None:
        self._low = int(blocks[0]) // mmap.PAGESIZE * mmap.PAGESIZE
        size = (int(blocks[-1]) - self._low) // mmap.PAGESIZE * mmap.PAGESIZE + mmap.PAGESIZE
        self._places = np.ascontiguousarray(blocks - self._low, "u4")  # read for as long as the process lives
        place = Library(path).place(self._low)
        self._code = _machine_code()
        with path.open("rb") as file:
            error = self._code.relaxfuzz_attach(
                ctypes.c_void_p(origin + place), ctypes.c_size_t(size), file.fileno(),
                ctypes.c_long(place), ctypes.c_void_p(self._places.ctypes.data),
                ctypes.c_size_t(len(self._places)),
            )  # fmt: skip
        if error:
            raise CoverageError(f"breakpoints cannot be set: {os.strerror(error)}")

    def arm(self, blocks: Any = None) -> None:
        """Set all of them anew, or those of some blocks, when what was reached before is taken."""
        if blocks is None:
            self._code.relaxfuzz_arm()
        else:
            places = np.ascontiguousarray(blocks - self._low, "u4")
            self._code.relaxfuzz_arm_some(ctypes.c_void_p(places.ctypes.data), ctypes.c_size_t(len(places)))

    def take(self) -> Any:
        """Return the addresses of the blocks that were reached for the first time since the last call."""
        where = ctypes.POINTER(ctypes.c_uint32)()
        count = self._code.relaxfuzz_take(ctypes.byref(where))
        return np.ctypeslib.as_array(where, (count,)).astype("i8") + self._low if count else np.empty(0, "i8")


def _machine_code() -> Any:
    """Return the library of breakpoints, compiled on first use; raises ``CoverageError``."""
    source = resources.files("relaxkit.coverage").joinpath("breakpoints.c").read_bytes()
    key = f"breakpoints2_{hashlib.sha256(source).hexdigest()[:16]}"
    code = _cached(key)
    if code is None:
        _keep(key, code := _compiled(source))
    file = os.memfd_create(key)
    try:
        os.write(file, code)
        library = ctypes.CDLL(f"/proc/self/fd/{file}")
    except OSError as error:
        raise CoverageError(f"the library of breakpoints cannot be loaded: {error}") from error
    finally:
        os.close(file)
    library.relaxfuzz_take.restype = ctypes.c_size_t
    return library


def _compiled(source: bytes) -> bytes:
    compiler = shutil.which("cc")
    if compiler is None:
        raise CoverageError("breakpoints need a C compiler: no `cc` is found")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "breakpoints.so"
        command = [compiler, *_FLAGS, "-x", "c", "-", "-o", str(place)]
        # Elsewhere the linker would take a `libgcc_s.so.1` that lies in the working directory.
        done = subprocess.run(command, input=source, capture_output=True, check=False, cwd=folder)
        if done.returncode:
            raise CoverageError(f"`cc` cannot compile the breakpoints: {done.stderr.decode(errors='replace')[:200]}")
        return place.read_bytes()


def _table_key(build: str) -> str:
    return f"blocks_{build}_{FORMAT}"


def _cached(key: str) -> bytes | None:
    return DiskCache(default_directory()).load(key)


def _keep(key: str, payload: bytes) -> None:
    DiskCache(default_directory()).store([key], payload)
