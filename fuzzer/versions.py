"""The versions that a bug report needs; TVM is not imported, since the installed pair may be one that crashes."""

from __future__ import annotations

import importlib.metadata
import mmap
import platform
import re
from pathlib import Path

from fuzzer.environment import FFI, TVM, EnvironmentFault, tvm_home, version_of

MISSING = "not installed"
UNKNOWN = "unknown"
_PACKAGES = (TVM, FFI, "apache-tvm-ffi-orcjit", "hypothesis", "numpy")
_LIBRARIES = ("libtvm_compiler.so", "libtvm.so")  # of 0.27, of older releases and builds from source
_WORDS = b"LLVM version "
_NUMBER = re.compile(r"\d+(?:\.\d+)+\w*")


def versions() -> dict[str, str]:
    """What is installed, by name: relaxfuzz, TVM and what it stands on, LLVM, Python, the platform."""
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
