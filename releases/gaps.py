"""What the installed release lacks: passes and operators, skipped by name with a reason.

A name is not in a table of ours: it is asked of TVM, so that a build from source is treated by what it has.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Iterable
from typing import Any

from releases.known import RELEASES, known

_HOMES = ("transform", "backend", "backend.adreno.transform", "distributed.transform", "training.utils")
"""Modules of ``tvm.relax`` that hold passes."""


def lines() -> tuple[str, ...]:
    """What to tell before a campaign, one line each, without importing TVM."""
    from releases import jit

    return () if jit.installed() else (jit.NO_JIT,)


def lacks_pass(name: str) -> str:
    """Why the installed TVM cannot run a pass of the tables; empty when it can.

    Args:
        name: Its name in one of TVM's modules of passes; a name with a colon is a whole pipeline,
            which every release has.
    """
    if ":" in name or any(hasattr(home, name) for home in _modules()):
        return ""
    return f"TVM {_version()} has no such pass"


def lacking_passes(names: Iterable[str]) -> dict[str, str]:
    """The passes among ``names`` that the installed TVM lacks, each with the reason."""
    return {name: reason for name in names if (reason := lacks_pass(name))}


def lacks_operator(name: str) -> str:
    """Why the installed TVM cannot run an operator, by its name in the registry; empty when it can."""
    ir = importlib.import_module("tvm.ir")
    return "" if name in ir.Op.list_op_names() else f"TVM {_version()} has no such operator"


def _modules() -> list[Any]:
    found = []
    for home in _HOMES:
        with contextlib.suppress(ImportError):
            found.append(importlib.import_module(f"tvm.relax.{home}"))
    return found


def _version() -> str:
    return str(importlib.import_module("tvm").__version__)


def excuses(error: BaseException) -> bool:
    """Whether a release that is not the newest may answer so, where the newest answers otherwise.

    True of errors that TVM itself raised while a module was being built on another release than the newest tested
    one: an operator there may not take what it takes today. The draw is discarded and counted. A name that a release
    lacks is not excused: it belongs into :mod:`releases.tables`.
    """
    if is_newest() or isinstance(error, (AttributeError, ImportError)):
        return False
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] in _THEIRS:
            return True
        trace = trace.tb_next
    return False


_THEIRS = ("tvm", "tvm_ffi")


@functools.cache
def is_newest() -> bool:
    """Whether the installed TVM is the newest of the tested releases."""
    return known(_version()) is RELEASES[0]
