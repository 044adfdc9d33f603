"""Each distinct PrimFunc is compiled once, to an object file that is loaded in process.

The object comes from TVM's LLVM code generator and is linked by the ORC JIT of ``apache-tvm-ffi-orcjit``: no compiler,
no system linker.  LLVM runs at ``opt-level`` 0, 5 ms a kernel instead of 16 to 30: without fast-math flags LLVM may not
change the value of a floating-point program, and ``tests/oracles/test_bit_identity.py`` compares with ``relax.build``.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import tempfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import tvm
import tvm_ffi

from oracles.execution.diskcache import DiskCache
from releases.jit import load_object

WHOLE_LIMIT = 64  # objects of whole modules; passes that are tried on one module often leave the same program
MEMORY_LIMIT = 4096  # loaded kernels a process keeps; 25 KiB each, so about 100 MiB


@functools.cache
def kernel_target() -> Any:
    """The target that kernels are compiled for."""
    return tvm.target.Target({"kind": "llvm", "opt-level": 0})


@functools.cache
def _toolchain() -> str:
    """What an object file depends on besides the PrimFunc: TVM (a rebuilt library too), LLVM, processor."""
    libraries = [path for folder in tvm.libinfo.package_lib_paths() for path in sorted(Path(folder).glob("libtvm*"))]
    stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in libraries]
    parts = (tvm.__version__, tvm_ffi.__version__, stats, kernel_target(), platform.machine())
    return "|".join(str(part) for part in parts)


def compile_object(functions: dict[str, Any]) -> bytes:
    """Compile PrimFuncs, by symbol, to one relocatable object file; raises whatever TVM raises."""
    module = tvm.IRModule(
        {
            tvm.ir.GlobalVar(symbol): function.with_attr("global_symbol", symbol)
            for symbol, function in functions.items()
        }
    )
    return object_of(module)


def object_of(module: Any) -> bytes:
    """Compile a module of PrimFuncs to one relocatable object file; raises whatever TVM raises."""
    library = tvm.tirx.build(module, target=kernel_target())
    handle, path = tempfile.mkstemp(suffix=".o")
    os.close(handle)
    try:
        library.write_to_file(path, "o")
        return Path(path).read_bytes()
    finally:
        os.unlink(path)


class KernelCache:
    """Loaded kernels of this process, backed by a directory.

    Args:
        disk: Shared cache of object files, or ``None`` for memory only.
        limit: How many loaded kernels to keep; the least recently used go first, and their memory is used again
            once no program imports them.
    """

    def __init__(self, disk: DiskCache | None, limit: int = MEMORY_LIMIT) -> None:
        self.disk = disk
        self.limit = limit
        self.compiled = 0
        self.from_disk = 0
        self.from_memory = 0
        self._loaded: OrderedDict[str, Any] = OrderedDict()
        self._whole: OrderedDict[int, bytes] = OrderedDict()

    def whole(self, module: Any) -> bytes:
        """The object file of a module of PrimFuncs, which keep their symbols; raises whatever TVM raises."""
        key = int(tvm_ffi.structural_hash(module))  # symbols are part of the structure
        if key not in self._whole:
            self._whole[key] = object_of(module)
            while len(self._whole) > WHOLE_LIMIT:
                self._whole.popitem(last=False)
        self._whole.move_to_end(key)
        return self._whole[key]

    def symbol(self, function: Any) -> str:
        """Name under which a PrimFunc is compiled: depends on its structure and not on its name."""
        anonymous = function.without_attr("global_symbol")
        return f"kernel_{tvm_ffi.structural_hash(anonymous) & 0xFFFFFFFFFFFFFFFF:016x}"

    def modules(self, functions: dict[str, Any]) -> list[Any]:
        """Loaded modules that hold the PrimFuncs, given by their :meth:`symbol`; compiles what is missing."""
        return [self._module(symbol, function) for symbol, function in functions.items()]

    def _module(self, symbol: str, function: Any) -> Any:
        found = self._loaded.get(symbol)
        if found is not None:
            self.from_memory += 1
            self._loaded.move_to_end(symbol)
            return found
        module = self._from_disk(symbol)
        if module is None:
            payload = compile_object({symbol: function})
            self.compiled += 1
            if self.disk is not None:
                self.disk.store(_key(symbol), payload)
            module = load_object(payload)
        self._loaded[symbol] = module
        while len(self._loaded) > self.limit:
            self._loaded.popitem(last=False)
        return module

    def _from_disk(self, symbol: str) -> Any | None:
        payload = self.disk.load(_key(symbol)) if self.disk is not None else None
        if payload is None:
            return None
        module = load_object(payload)
        if not module.implements_function(symbol):
            return None
        self.from_disk += 1
        return module


def _key(symbol: str) -> str:
    return hashlib.sha256(f"{symbol}|{_toolchain()}".encode()).hexdigest()[:40]
