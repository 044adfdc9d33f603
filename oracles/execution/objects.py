"""Relocatable object files of what LLVM's code generator has made."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any


def object_file(library: Any) -> bytes:
    """The object file of a module of TVM's LLVM code generator; raises whatever TVM raises."""
    if hasattr(os, "memfd_create"):  # TVM writes to a path; this one is in memory
        handle = os.memfd_create("kernels.o")
        try:
            library.write_to_file(f"/proc/self/fd/{handle}", "o")
            return os.pread(handle, os.fstat(handle).st_size, 0)
        finally:
            os.close(handle)
    handle, path = tempfile.mkstemp(suffix=".o")
    os.close(handle)
    try:
        library.write_to_file(path, "o")
        return Path(path).read_bytes()
    finally:
        os.unlink(path)
