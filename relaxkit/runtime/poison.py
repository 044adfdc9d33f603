"""Runs in poisoned memory: what a program allocates holds a pattern before the program writes into it.

Two runs that differ by nothing but the pattern, and give different results, prove a read of uninitialized memory.  The
virtual machine takes its memory from a pool that is never cleared, so that such a read mostly sees what an earlier call
left, which may well be the right value.

An instrument of the virtual machine fills every storage and every heap of shapes as soon as it is allocated; what
kernels allocate for themselves comes from the workspace pool of the thread, whose free blocks are filled before the
run.  Small buffers of kernels live on the stack and are not seen.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tvm

from relaxkit.runtime.run import Program

PATTERNS = (0xFF, 0x4B)
"""Bytes to fill with: NaN in every float, -1 in every integer; and 1.3e7 in float32, 1.3e9 in int32."""
OPPOSITE = 0xCB
"""A third byte, for who wants to know that a result depends on no memory: -2.7e7 in float32. A ``clip`` gives one
number for NaN and for all that is large."""
ALLOC_STORAGE = "vm.builtin.alloc_storage"
ALLOC_HEAP = "vm.builtin.alloc_shape_heap"
_PAGE = 4096  # the pool gives whole pages: what lies behind the end of a storage is poisoned, too
_BLOCKS, _BLOCK_BYTES = 4, 1 << 16
_CPU = 1  # kDLCPU
_NO_OP = 0  # VMInstrumentReturnKind.NO_OP


@contextlib.contextmanager
def poisoned(program: Program, pattern: int) -> Iterator[None]:
    """Within it, all that ``program`` allocates holds ``pattern`` in every byte.

    Args:
        program: A program; in compiled mode the memory that its Relax code allocates is not seen.
        pattern: A byte.
    """
    _fill_workspace(pattern)
    program.instrument(_Poisoner(pattern))
    try:
        yield
    finally:
        program.instrument(None)


class _Poisoner:
    """An instrument of the virtual machine; every allocation happens through it."""

    def __init__(self, pattern: int) -> None:
        self.pattern = pattern

    def __call__(self, _function: Any, symbol: str, before: bool, result: Any, *arguments: Any) -> int:
        """Called before and after every call of a program."""
        if before:
            return _NO_OP
        with contextlib.suppress(Exception):  # memory of a kind that cannot be filled from here stays as it is
            if symbol == ALLOC_STORAGE:
                self._storage(result, arguments)
            elif symbol == ALLOC_HEAP:
                np.from_dlpack(result).view("uint8").fill(self.pattern)
        return _NO_OP

    def _storage(self, storage: Any, arguments: tuple[Any, ...]) -> None:
        _machine, shape, _device, dtype = arguments[:4]
        size = math.prod(int(dim) for dim in shape) * tvm.DataType(str(dtype)).itemsize
        if not size:
            return
        whole = tvm.runtime.ShapeTuple([-(-size // _PAGE) * _PAGE])
        np.from_dlpack(_alloc_tensor()(storage, 0, whole, "uint8")).fill(self.pattern)


@functools.cache
def _alloc_tensor() -> Any:
    return tvm.get_global_func("vm.builtin.alloc_tensor")


def _fill_workspace(pattern: int) -> None:
    """Fill the free blocks of this thread's workspace pool: the kernels of the next call take them."""
    library = _library()
    if library is None:
        return
    blocks = [library.TVMBackendAllocWorkspace(_CPU, 0, _BLOCK_BYTES, 2, 32) for _ in range(_BLOCKS)]
    for block in blocks:
        if block:
            ctypes.memset(block, pattern, _BLOCK_BYTES)
            library.TVMBackendFreeWorkspace(_CPU, 0, ctypes.c_void_p(block))


@functools.cache
def _library() -> Any | None:
    """Return the loaded library with TVM's C interface of kernels, ``None`` where it is not found."""
    for folder in tvm.libinfo.package_lib_paths():
        for path in sorted(Path(folder).glob("libtvm*")):
            try:
                library = ctypes.CDLL(str(path), mode=getattr(ctypes, "RTLD_LOCAL", 0))
                allocate, free = library.TVMBackendAllocWorkspace, library.TVMBackendFreeWorkspace
            except (OSError, AttributeError):
                continue
            allocate.restype = ctypes.c_void_p
            allocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_uint64, ctypes.c_int, ctypes.c_int]
            free.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
            return library
    return None
