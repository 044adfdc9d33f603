"""The installed TVM: is it a release and a pairing of packages that works?  Asked before TVM is imported."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
from dataclasses import dataclass

TVM = "apache-tvm"
FFI = "apache-tvm-ffi"


class EnvironmentFault(Exception):
    """An installation that would crash later; the message names the command that mends it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Releases of TVM and of its ffi package that work together.

    Attributes:
        tvm: Release of ``apache-tvm``.
        least: First release of ``apache-tvm-ffi`` that fits.
        below: First release that does not fit any more.
        pin: The requirement for pip.
    """

    tvm: str
    least: tuple[int, ...]
    below: tuple[int, ...]
    pin: str


# Measured: with another pair `tvm.ir.save_json` ends in a segmentation fault, although pip accepts it.
PAIRS = (Pair("0.27.0.post1", (0, 1, 14), (0, 1, 15), ">=0.1.14.post0,<0.1.15"),)


@dataclass(frozen=True, slots=True)
class Versions:
    """What is installed."""

    tvm: str
    ffi: str


def installed() -> Versions:
    """Versions of the installed packages; raises ``EnvironmentFault`` when one is missing."""
    return Versions(_version(TVM), _version(FFI))


def require_working_pair() -> Versions:
    """Versions of the installed packages; raises ``EnvironmentFault`` when they do not work together."""
    found = installed()
    pair = next((pair for pair in PAIRS if pair.tvm == found.tvm), None)
    if pair is None:
        wanted = PAIRS[0]
        raise EnvironmentFault(
            f"{TVM} {found.tvm} is not supported; install with: pip install '{TVM}=={wanted.tvm}' '{FFI}{wanted.pin}'"
        )
    if not pair.least <= _numbers(found.ffi) < pair.below:
        raise EnvironmentFault(
            f"{TVM} {found.tvm} does not work with {FFI} {found.ffi} (another ABI: it would crash); "
            f"mend it with: pip install '{FFI}{pair.pin}'"
        )
    return found


def compiler() -> str | None:
    """Path of a C++ compiler that TVM's plain build path could link with, or ``None``."""
    return next((path for name in ("g++", "c++", "clang++") if (path := shutil.which(name))), None)


NO_COMPILER = (
    "no C++ compiler: numeric findings are judged in process, but cannot be confirmed on TVM's plain build path"
)


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pair = PAIRS[0]
        raise EnvironmentFault(
            f"{name} is not installed; install with: pip install '{TVM}=={pair.tvm}' '{FFI}{pair.pin}'"
        ) from None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.split(".post")[0].split("+")[0]))[:3]
