"""Each distinct PrimFunc is compiled once, to an object file that is loaded in process.

The object comes from TVM's LLVM code generator and is linked by the ORC JIT of ``apache-tvm-ffi-orcjit``: no compiler,
no system linker.  The kernels that a module lacks are compiled together: half the time goes into what a compilation
costs whatever it compiles.  LLVM runs at ``opt-level`` 0, 2 ms a kernel instead of 16 to 30: without fast-math flags
LLVM may not change the value of a floating-point program, and ``tests/oracles/test_bit_identity.py`` compares with
``relax.build``.  One thing it may: TVM writes ``a * b + c`` as ``llvm.fmuladd``, which grants a single rounding.  A
processor without such an instruction rounds twice; an optimiser that knows all three, as of coordinates of
``image.affine_grid`` in an unrolled loop, rounds once.  Here it is always twice, as written.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import platform
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import tvm
import tvm_ffi

from relaxkit.compat.jit import load_object, load_objects
from relaxkit.runtime.compile import argument_checks as checker
from relaxkit.runtime.compile import packed_functions as short_checks
from relaxkit.runtime.compile.diskcache import DiskCache, object_file

WHOLE_LIMIT = 64  # objects of code that is no kernel; passes tried on one module often leave the same program
MEMORY_LIMIT = 4096  # loaded kernels a process keeps; 25 KiB each, and the object again as a file: about 160 MiB
BATCH = 16  # kernels in one object: what is found on disk for one of them is loaded as a whole
SYMBOLS = 8192  # PrimFuncs whose structure is remembered
_PARTS = ("body", "params", "ret_type", "buffer_map")  # the last until TVM 0.26: its buffers are parameters now
_FORMAT = 3  # of payloads: a line with the symbols, then the object
_CHECKER = checker.PREFIX.encode()  # in an object that calls the checking functions


# LiveDebugValues, which is for debuggers alone, leaves functions alone that have more than this.  TVM sets options of
# LLVM for a compilation, and sets them back.
_NO_DEBUG_VALUES = ("-livedebugvalues-input-bb-limit:uint=0", "-livedebugvalues-input-dbg-value-limit:uint=0")


@functools.cache
def kernel_target() -> Any:
    """Return the target that kernels are compiled for."""
    return tvm.target.Target({"kind": "llvm", "opt-level": 0, "cl-opt": list(_NO_DEBUG_VALUES)})


@functools.cache
def _toolchain() -> str:
    """Return what an object file depends on besides the PrimFunc: TVM (a rebuilt library too), LLVM, processor."""
    libraries = [path for folder in tvm.libinfo.package_lib_paths() for path in sorted(Path(folder).glob("libtvm*"))]
    stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in libraries]
    parts = (tvm.__version__, tvm_ffi.__version__, stats, kernel_target(), platform.machine(), _FORMAT, checker.VERSION)
    return "|".join(str(part) for part in parts)


class Checks(enum.Enum):
    """Ways in which kernels check their arguments.

    Attributes:
        SHORT: By calls of ``checker.py``, where that can be.
        TVM: As TVM writes it, with messages that say all.
    """

    SHORT = "short"
    TVM = "tvm"


def compile_object(functions: dict[str, Any], target: Any = None, checks: Checks = Checks.SHORT) -> bytes:
    """Compile PrimFuncs, by symbol, to one relocatable object file; raises whatever TVM raises."""
    module = tvm.IRModule(
        {
            tvm.ir.GlobalVar(symbol): function.with_attr("global_symbol", symbol)
            for symbol, function in functions.items()
        }
    )
    if checks is Checks.SHORT:
        return object_file(short_checks.library(module, target or kernel_target()))
    return object_of(module, target)


def object_of(module: tvm.IRModule, target: Any = None) -> bytes:
    """Compile a module of PrimFuncs to one relocatable object file.

    Args:
        target: Instead of :func:`kernel_target`.

    Raises:
        Exception: Whatever TVM raises.
    """
    return object_file(tvm.tirx.build(module, target or kernel_target()))


@dataclass(frozen=True, slots=True)
class Loaded:
    """Kernels that were compiled together."""

    symbols: tuple[str, ...]
    content: bytes
    module: Any


class KernelCache:
    """Loaded kernels of this process, backed by a directory.

    Args:
        disk: Shared cache of object files, or ``None`` for memory only.
        limit: How many loaded kernels to keep; the least recently used go first, together with those that they were
            compiled with, and their memory is used again once no program imports them.
        target: What to compile them for instead of :func:`kernel_target`; only without a directory, whose entries are
            for that one.
        checks: How kernels check their arguments.

    Attributes:
        compiled: How many kernels were compiled.
        from_disk: How many were found on disk.
        from_memory: How many were in memory already.
    """

    def __init__(
        self, disk: DiskCache | None, limit: int = MEMORY_LIMIT, target: Any = None, checks: Checks = Checks.SHORT
    ) -> None:
        if disk is not None and target is not None:
            raise ValueError("a cache on disk is for one target")
        self.disk = disk
        self.limit = limit
        self.target = target
        self.checks = checks
        self.compiled = 0
        self.from_disk = 0
        self.from_memory = 0
        self._objects: OrderedDict[str, Loaded] = OrderedDict()  # by the first symbol of each
        self._home: dict[str, str] = {}  # of every symbol, the first one of its object
        self._whole: OrderedDict[int, bytes] = OrderedDict()
        self._checker = b""
        self._symbols: dict[Any, tuple[Any, str, Any]] = {}

    @property
    def loaded(self) -> int:
        """Return how many kernels are in memory."""
        return len(self._home)

    def whole(self, module: tvm.IRModule) -> bytes:
        """Return the object file of a module of PrimFuncs, which keep their symbols; raises whatever TVM raises."""
        key = int(tvm_ffi.structural_hash(module))  # symbols are part of the structure
        if key not in self._whole:
            name = f"module_{key & 0xFFFFFFFFFFFFFFFF:016x}"
            self._whole[key] = self._made_once(name, lambda: object_of(module, self.target))
            while len(self._whole) > WHOLE_LIMIT:
                self._whole.popitem(last=False)
        self._whole.move_to_end(key)
        return self._whole[key]

    def _made_once(self, name: str, make: Callable[[], bytes]) -> bytes:
        """Return what is on disk under a name; what is not is made, and stored there."""
        payload = self.disk.load(_key(name)) if self.disk is not None else None
        if payload is None:
            payload = make()
            if self.disk is not None:
                self.disk.store([_key(name)], payload)
        return payload

    def symbol(self, function: Any) -> str:
        """Return the name under which a PrimFunc is compiled: depends on its structure and not on its name."""
        return self.named(function)[0]

    def named(self, function: Any) -> tuple[str, Any]:
        """Return the :meth:`symbol` of a PrimFunc, and the PrimFunc with that as its ``global_symbol``."""
        parts = tuple([getattr(function, name, None) for name in _PARTS])
        attributes = [(str(name), value) for name, value in function.attrs.items() if name != "global_symbol"]
        attributes.sort(key=itemgetter(0))
        key = (*map(_identity, parts), *((name, _identity(value)) for name, value in attributes))
        found = self._symbols.get(key)
        if found is None:
            anonymous = function.without_attr("global_symbol")
            symbol = f"kernel_{tvm_ffi.structural_hash(anonymous) & 0xFFFFFFFFFFFFFFFF:016x}"
            if len(self._symbols) >= SYMBOLS:
                self._symbols.clear()
            # What the key names by address is kept, so that the address is not given to another object.
            found = self._symbols[key] = ((parts, attributes), symbol, anonymous.with_attr("global_symbol", symbol))
        return found[1:]

    def modules(self, functions: dict[str, Any]) -> list[Any]:
        """Loaded modules that hold the PrimFuncs, given by their :meth:`symbol`; compiles what is missing."""
        return [each.module for each in self.objects(functions)]

    def objects(self, functions: dict[str, Any]) -> list[Loaded]:
        """As :meth:`modules`, with the object files."""
        used: dict[int, Loaded] = {}
        missing: dict[str, Any] = {}
        for symbol, function in functions.items():
            found = self._in_memory(symbol) or self._on_disk(symbol)
            if found is None:
                missing[symbol] = function
            else:
                used[id(found)] = found
        symbols = list(missing)
        for first in range(0, len(symbols), BATCH):
            made = self._compile({symbol: missing[symbol] for symbol in symbols[first : first + BATCH]})
            used[id(made)] = made
        self._forget(keep=len(used))
        return list(used.values())

    def _in_memory(self, symbol: str) -> Loaded | None:
        home = self._home.get(symbol)
        if home is None:
            return None
        self.from_memory += 1
        self._objects.move_to_end(home)
        return self._objects[home]

    def _on_disk(self, symbol: str) -> Loaded | None:
        payload = self.disk.load(self._key(symbol)) if self.disk is not None else None
        if payload is None:
            return None
        line, _, content = payload.partition(b"\n")
        symbols = tuple(line.decode().split())
        if symbol not in symbols:
            return None
        self.from_disk += 1
        return self._keep(symbols, content)

    def _compile(self, functions: dict[str, Any]) -> Loaded:
        content = compile_object(functions, self.target, self.checks)
        self.compiled += len(functions)
        if self.disk is not None:
            self.disk.store([self._key(symbol) for symbol in functions], " ".join(functions).encode() + b"\n" + content)
        return self._keep(tuple(functions), content)

    def _keep(self, symbols: tuple[str, ...], content: bytes) -> Loaded:
        needed = self.checkers([content])
        loaded = Loaded(symbols, content, load_objects([content, *needed]) if needed else load_object(content))
        self._drop(symbols[0])
        self._objects[symbols[0]] = loaded
        for symbol in symbols:
            self._home[symbol] = symbols[0]
        return loaded

    def checkers(self, contents: Iterable[bytes]) -> list[bytes]:
        """Return the object files that objects of kernels are to be linked with; none, or one."""
        if not any(_CHECKER in content for content in contents):
            return []
        self._checker = self._checker or self._made_once(_CHECKER.decode(), checker.checker_object)
        return [self._checker]

    def _key(self, symbol: str) -> str:
        return _key(symbol if self.checks is Checks.SHORT else f"{symbol}|{self.checks.value}")

    def _forget(self, keep: int) -> None:
        while len(self._home) > self.limit and len(self._objects) > keep:
            self._drop(next(iter(self._objects)))

    def _drop(self, home: str) -> None:
        dropped = self._objects.pop(home, None)
        for symbol in dropped.symbols if dropped is not None else ():
            if self._home.get(symbol) == home:
                del self._home[symbol]


def clash(objects: Iterable[Loaded]) -> bool:
    """Say whether some kernel is in several of the objects, so that they cannot be linked into one library."""
    return any(count > 1 for count in Counter(symbol for each in objects for symbol in each.symbols).values())


def _identity(value: Any) -> Any:
    """Something that is equal for the same object only, or for equal plain values."""
    return (value.__chandle__(),) if isinstance(value, tvm_ffi.Object) else value


def _key(symbol: str) -> str:
    return hashlib.sha256(f"{symbol}|{_toolchain()}".encode()).hexdigest()[:40]
