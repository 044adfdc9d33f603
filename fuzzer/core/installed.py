"""The installed TVM: is it a release and a pairing of packages that works?  Asked before TVM is imported."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import mmap
import os
import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from fuzzer.core.verb import UsageError
from relaxkit.compat.known import RELEASES, Release, is_newer, known, numbers

TVM = "apache-tvm"
FFI = "apache-tvm-ffi"
UNKNOWN = "unknown"
"""Version of a build from source that says none."""


VDSO = "linux-vdso.so.1"
"""The kernel's library, which has no file: TVM's backtraces look for one of this name in the working directory."""
TRACED = "python/tvm_ffi/cython/function.pxi"
"""Source that tracebacks of Python name relative to the working directory; a checkout of the ffi has it."""


class EnvironmentFault(UsageError):
    """An installation that would crash later; the message names the command that mends it."""


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions of the installed packages."""

    tvm: str
    ffi: str


def installed() -> Versions:
    """Versions of the installed packages; raises ``EnvironmentFault`` when one is missing."""
    return Versions(version_of(TVM), version_of(FFI))


def require_plain_directory() -> None:
    """Refuse a working directory with files that TVM and Python open by name; raises ``UsageError``.

    It may be somebody's campaign: a pipe of such a name makes the process wait forever, a damaged library kills it.
    """
    for name, harmless in ((VDSO, False), (TRACED, Path(TRACED).is_file())):
        if os.path.lexists(name) and not harmless:
            raise UsageError(
                f"the working directory contains '{name}', which TVM or Python would open: run this elsewhere"
            )


def require_working_pair() -> Versions:
    """Versions of the installed packages; raises ``EnvironmentFault`` when they do not work together.

    A release that is newer than the tested ones, and a build from source, are taken as they are; see
    :func:`untested`.
    """
    found = installed()
    release = known(found.tvm)
    if release is None and found.tvm != UNKNOWN and numbers(found.tvm) < numbers(RELEASES[-1].tvm):
        raise EnvironmentFault(
            f"{TVM} {found.tvm} is not supported (supported: {', '.join(each.tvm for each in RELEASES)}); "
            f"install with: {pip_command(RELEASES[0])}"
        )
    if release is not None and not release.fits(found.ffi):
        raise EnvironmentFault(
            f"{TVM} {found.tvm} does not work with {FFI} {found.ffi} (different ABI: TVM would crash); "
            f"fix it with: pip install '{FFI}{release.pin}'"
        )
    return found


def untested(found: Versions) -> str:
    """One line of warning about a TVM that is none of the tested releases; empty for these."""
    if known(found.tvm) is not None:
        return ""
    what = "newer than" if found.tvm != UNKNOWN and is_newer(found.tvm) else "none of"
    return (
        f"{TVM} {found.tvm} with {FFI} {found.ffi} is {what} the tested releases "
        f"({', '.join(each.tvm for each in RELEASES)}): contracts may be out of date, and the two may not match"
    )


def tvm_home() -> Path | None:
    """Directory of TVM's Python package, ``None`` when there is none on the path.

    Not by ``importlib.util.find_spec``: the finder of :mod:`relaxkit.compat.hook` would take the question for TVM's
    import, and not wait any longer.
    """
    spec = importlib.machinery.PathFinder.find_spec("tvm")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def compiler() -> str | None:
    """Path of a C++ compiler that TVM's plain build path could link with, or ``None``."""
    return next((path for name in ("g++", "c++", "clang++") if (path := shutil.which(name))), None)


NO_COMPILER = "no C++ compiler: numeric findings are tested in process, but cannot be confirmed on TVM's own build path"


def version_of(name: str) -> str:
    """Version of an installed package, a TVM that was not installed by pip among them; raises ``EnvironmentFault``."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        if name == TVM and (version := _from_source()):
            return version
        raise EnvironmentFault(f"{name} is not installed; install with: {pip_command(RELEASES[0])}") from None


def _from_source() -> str:
    """Version of a TVM that is on the path without having been installed by pip; empty when there is none."""
    home = tvm_home()
    if home is None:
        return ""
    for file in ("_version.py", "libinfo.py"):
        path = home / file
        said = re.search(r"""__version__ .*['"](\d[^'"]*)['"]""", path.read_text() if path.exists() else "")
        if said:
            return said[1]
    return UNKNOWN


def pip_command(release: Release) -> str:
    """Return the command that installs a release of TVM with what works with it."""
    return f"pip install '{TVM}=={release.tvm}' '{FFI}{release.pin}'"


# The versions that a bug report needs; TVM is not imported, since the installed pair may be one that crashes.

MISSING = "not installed"
_PACKAGES = (TVM, FFI, "apache-tvm-ffi-orcjit", "hypothesis", "numpy")
_LIBRARIES = ("libtvm_compiler.so", "libtvm.so")  # of 0.27, of older releases and builds from source
_WORDS = b"LLVM version "
_NUMBER = re.compile(r"\d+(?:\.\d+)+\w*")


def versions() -> dict[str, str]:
    """List what is installed, by name: relaxfuzz, TVM and what it stands on, LLVM, Python, the platform."""
    found = {"relaxfuzz": importlib.metadata.version("relaxfuzz")}
    found |= {name: version_or_missing(name) for name in _PACKAGES}
    found["LLVM"] = llvm_version()
    found["Python"] = f"{platform.python_version()} ({platform.python_implementation()})"
    found["platform"] = platform.platform()
    return found


def llvm_version() -> str:
    """Version of the LLVM inside TVM's library, which has it as text (``--version`` of LLVM's tools prints it).

    ``unknown`` when there is no such library or text, as in a TVM that loads LLVM as a library of its own.
    """
    for path in _libraries():
        try:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                place = content.find(_WORDS)  # 0.2 s for 260 MB, a third of a regular expression's
                while place >= 0:
                    start = place + len(_WORDS)
                    if said := _NUMBER.match(content[start : start + 40].decode("ascii", "replace")):
                        return said[0]
                    place = content.find(_WORDS, place + 1)
        except (OSError, ValueError):  # ValueError: an empty file cannot be mapped
            continue
    return UNKNOWN


def _libraries() -> list[Path]:
    home = tvm_home()
    if home is None:
        return []
    folders = (home / "lib", home, home.parent.parent / "build", home.parent.parent / "build" / "lib")
    return [path for name in _LIBRARIES for folder in folders if (path := folder / name).is_file()]


def version_or_missing(name: str) -> str:
    """Version of an installed package, else ``not installed``."""
    try:
        return version_of(name)
    except EnvironmentFault:
        return MISSING
