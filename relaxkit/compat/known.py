"""The releases that work, the packages that fit each, and what the installed one lacks.

Importing this file does not import TVM.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Release:
    """A release of TVM, and what works with it.

    Attributes:
        tvm: Release of ``apache-tvm``.
        least: First release of ``apache-tvm-ffi`` that fits.
        below: First release of it that does not fit any more.
        pin: The same as a requirement for pip.
    """

    tvm: str
    least: tuple[int, ...]
    below: tuple[int, ...]
    pin: str

    def fits(self, ffi: str) -> bool:
        """Say whether a release of ``apache-tvm-ffi`` works with this one of TVM."""
        return self.least <= numbers(ffi) < self.below


# Measured: with another ffi than these, pip accepts the pair and `tvm.ir.save_json` ends in a segmentation fault.
RELEASES = (
    Release("0.27.0.post1", (0, 1, 14), (0, 1, 15), ">=0.1.14.post0,<0.1.15"),
    Release("0.26.0", (0, 1, 13), (0, 1, 14), ">=0.1.13.post2,<0.1.14"),
    Release("0.25.0", (0, 1, 12), (0, 1, 13), ">=0.1.12,<0.1.13"),
)
"""The releases that are tested, the newest first."""


def known(version: str) -> Release | None:
    """Return the release of that version, ``None`` when it is not one of the tested ones."""
    return next((release for release in RELEASES if release.tvm == version), None)


def is_newer(version: str) -> bool:
    """Say whether a version, of a nightly build perhaps, comes behind the newest tested release."""
    return numbers(version) > numbers(RELEASES[0].tvm)


def numbers(version: str) -> tuple[int, ...]:
    """Return the first three numbers of a version: (0, 27, 0) of ``0.27.0.post1`` and of ``0.27.0.dev5+g1``."""
    return tuple(int(part) for part in re.findall(r"\d+", re.split(r"\.post|\.dev|\+|rc", version)[0]))[:3]


# What the installed release lacks is skipped by name with a reason. No table lists it: TVM is asked, so that a build
# from source is treated by what it has.

_HOMES = (
    "transform", "backend", "backend.adreno.transform", "distributed.transform", "training.utils", "dpl",
    "binding_rewrite", "analysis", "testing.transform",
)  # fmt: skip
"""Modules of ``tvm.relax`` that hold passes."""


def lines() -> tuple[str, ...]:
    """Return what to tell before a campaign, one line each, without importing TVM."""
    from relaxkit.compat import jit

    return () if jit.installed() else (jit.NO_JIT,)


def lacks_pass(name: str) -> str:
    """Return why the installed TVM cannot run a pass of the tables; empty when it can.

    Args:
        name: Its name in one of TVM's modules of passes; a name with a colon is a whole pipeline,
            which every release has.
    """
    if ":" in name or any(hasattr(home, name) for home in _modules()):
        return ""
    return f"TVM {_version()} has no such pass"


def lacking_passes(names: Iterable[str]) -> dict[str, str]:
    """Return the passes among ``names`` that the installed TVM lacks, each with the reason."""
    return {name: reason for name in names if (reason := lacks_pass(name))}


def lacks_operator(name: str) -> str:
    """Return why the installed TVM cannot run an operator, by its name in the registry; empty when it can."""
    ir = importlib.import_module("tvm.ir")
    return "" if name in ir.Op.list_op_names() else f"TVM {_version()} has no such operator"


def _modules() -> list[Any]:
    found = []
    for home in _HOMES:
        with contextlib.suppress(ImportError):
            found.append(importlib.import_module(f"tvm.relax.{home}"))
    return [*found, importlib.import_module("tvm.relax"), importlib.import_module("tvm.relax").Function]


def _version() -> str:
    return str(importlib.import_module("tvm").__version__)


def excuses(error: BaseException) -> bool:
    """Say whether a release that is not the newest may answer so, where the newest answers otherwise.

    True of errors that TVM itself raised while a module was being built on another release than the newest tested
    one: an operator there may not take what it takes today. The draw is discarded and counted. A name that a release
    lacks is not excused: it belongs into :mod:`relaxkit.compat.tables`.
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
    """Say whether the installed TVM is the newest of the tested releases."""
    return known(_version()) is RELEASES[0]
