"""Build and run modules in this process."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tvm import relax

from relaxkit.compat import jit
from relaxkit.runtime.compile.diskcache import DiskCache, default_directory
from relaxkit.runtime.compile.fast_lowering import lower_quickly
from relaxkit.runtime.compile.kernels import Checks, KernelCache
from relaxkit.runtime.compile.legalization import Legalizer
from relaxkit.runtime.compile.linking import link_program, machine
from relaxkit.runtime.compile.lowering import lower, target
from relaxkit.runtime.values import ARGUMENT_ERROR, ExecMode, Value, from_tvm, printed, to_tvm


@dataclass(frozen=True, slots=True)
class Program:
    """A module that is ready to run.

    Attributes:
        machine: The ``relax.VirtualMachine``.
        output: What the program has printed, one text a call that prints; nothing of it reaches the terminal.
        thorough: Builds the same program with TVM's own checks of arguments, if the machine has others.
        observers: The observer of :meth:`instrument`, if there is one.
    """

    machine: Any
    output: list[str] = field(default_factory=list)
    thorough: Callable[[], Any] | None = None
    observers: list[Callable[..., Any]] = field(default_factory=list)

    def call(self, function: str, arguments: Sequence[Any]) -> Value:
        """Call a function by its global symbol; raises what the program raises."""
        return from_tvm(self.call_raw(function, self.arguments(arguments)))

    def arguments(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments as TVM objects; what is one already stays itself."""
        return tuple(to_tvm(argument) for argument in arguments)

    def plain(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments that are TVM objects as plain values."""
        return tuple(from_tvm(argument) for argument in arguments)

    def call_raw(self, function: str, arguments: Sequence[Any]) -> Any:
        """As :meth:`call`, with arguments and result as TVM objects."""
        try:
            with printed(self.output):
                return self.machine[function](*arguments)
        except Exception as error:
            if ARGUMENT_ERROR in str(error):
                self._explain(function, arguments)
            raise

    def _explain(self, function: str, arguments: Sequence[Any]) -> None:
        """Make the call again with TVM's checks, whose messages findings are told apart by; the short ones say little.

        Nothing is raised where that program does not build, or does not fail.
        """
        thorough = None
        with contextlib.suppress(Exception):
            thorough = self.thorough() if self.thorough is not None else None
        if thorough is not None:
            for observer in self.observers:  # what fails may fail by what it does, as in poisoned memory
                thorough.set_instrument(observer)
            with printed([]):
                thorough[function](*arguments)

    def take_output(self) -> tuple[str, ...]:
        """Return what was printed since it was last asked for."""
        texts = tuple(self.output)
        self.output.clear()
        return texts

    def arity(self, function: str) -> int:
        """Number of parameters of a function."""
        return int(self.machine._get_function_arity(function))

    def has(self, function: str) -> bool:
        """Say whether the program has a Relax function of this global symbol."""
        try:
            return self.machine.module.implements_function(function) or self.machine[function] is not None
        except (AttributeError, ValueError, RuntimeError):
            return False

    def instrument(self, observer: Callable[..., Any] | None) -> None:
        """Have ``observer(function, symbol, before, result, *arguments)`` called around every kernel; ``None`` ends."""
        self.observers[:] = [observer] if observer is not None else []
        self.machine.set_instrument(observer if observer is not None else lambda *_: None)


class Session:
    """Means of a process to execute modules: the kernel cache, and what LegalizeOps made of calls.

    Args:
        disk: Cache on disk; ``None`` for none.

    Attributes:
        kernels: The kernel cache.
        thorough: Another one, of kernels with TVM's own checks of arguments, for calls that failed by the short ones.
        legalizer: Remembers what LegalizeOps makes of calls.
    """

    def __init__(self, disk: DiskCache | None = None) -> None:
        self.kernels = KernelCache(disk)
        self.thorough = KernelCache(disk, checks=Checks.TVM)
        self.legalizer = Legalizer()

    def build(self, module: Any, mode: ExecMode = ExecMode.BYTECODE, *, lowered: bool = False) -> Program:
        """Lower (unless it is ``lowered``) and build a module; raises whatever TVM raises."""
        ready = module if lowered else lower_quickly(module, self.legalizer)
        return Program(
            link_program(ready, mode, self.kernels), thorough=lambda: link_program(ready, mode, self.thorough)
        )

    def builds(self, module: Any) -> bool:
        """Say whether a module builds."""
        try:
            self.build(module)
        except Exception:
            return False
        return True


class PlainSession(Session):
    """A session that builds everything by plain ``relax.build``: the judge of record."""

    def build(self, module: Any, mode: ExecMode = ExecMode.BYTECODE, *, lowered: bool = False) -> Program:
        """Build by :func:`plain_build`."""
        return plain_build(module, mode, lowered=lowered)


_sessions: list[Session] = []


def session() -> Session:
    """The process's session, with the cache directory of :func:`~relaxkit.runtime.compile.diskcache.default_directory`.

    Where no JIT fits the installed TVM, it builds everything by the system's linker.
    """
    if not _sessions:
        _sessions.append(Session(DiskCache(default_directory())) if jit.available() else PlainSession())
    return _sessions[-1]


@contextlib.contextmanager
def judge_of_record() -> Iterator[None]:
    """Within it, :func:`session` builds by plain ``relax.build``; needs a C++ compiler (:func:`cxx_available`)."""
    session()  # the ordinary one stays below
    _sessions.append(PlainSession())
    try:
        yield
    finally:
        _sessions.pop()


def cxx_available() -> bool:
    """Say whether there is a C++ compiler, which ``relax.build``'s virtual machine needs to link."""
    return shutil.which(os.environ.get("CXX") or "g++") is not None or shutil.which("clang++") is not None


def plain_build(module: Any, mode: ExecMode = ExecMode.BYTECODE, *, lowered: bool = False) -> Program:
    """Build by plain ``relax.build``, with LLVM's default optimisation and the system linker: the judge of record.

    Args:
        lowered: Whether the module is lowered already; else the reference pipeline lowers it.

    Raises:
        RuntimeError: There is no C++ compiler (:func:`cxx_available`).
        Exception: Whatever TVM raises.
    """
    with target():
        executable = relax.build(
            module if lowered else lower(module), target=target(), relax_pipeline=None, exec_mode=mode.value
        )
        return Program(machine(executable.jit()))
