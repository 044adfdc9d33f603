"""Every pass that the installed TVM offers, found by looking: Python's packages, the FFI's registry, the pipelines.

Which of them are under contract is in ``relaxkit.passes.contracts``, which are not, and why, in
``relaxkit.passes.exclusions``: a pass that a new release brings is in neither, and a test says so.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

ROOMS = (
    "tvm.relax.transform",
    "tvm.relax.backend",
    "tvm.relax.distributed.transform",
    "tvm.relax.training",
    "tvm.relax.pipeline",
)
"""Packages whose public names are looked at, with all that is in them."""
FFI_ROOMS = ("relax.transform.", "relax.backend.", "relax.distributed.transform.", "relax.training.")
"""Prefixes of the global functions that are looked at."""
REWRITERS = ("tvm.relax.dpl.rewrite", "tvm.relax.binding_rewrite", "tvm.relax.analysis.analysis")
"""Modules of which users make passes: what rewrites by patterns, edits blocks, or suggests layouts."""
USERS = (
    ("analysis", "relax.analysis"),
    ("dataflowblock_pass", "relax.transform.dataflowblock_pass"),
    ("inline_functions", "relax.Function.inline_functions"),
    ("ApplyEmptyCppMutator", "relax.testing.transform.ApplyEmptyCppMutator"),
)
"""Other functions of which users make passes, or which are one for tests of TVM."""
_LISTS = "_passes"
"""End of the names of functions of a backend's pipeline that give a list of passes."""


def installed_passes() -> dict[str, tuple[str, ...]]:
    """Return the name -> where the installed TVM offers it, sorted.

    A name is that of a pass, of something that looks like one (a capitalised public name), of a stock pipeline
    (``pipeline zero``), of a backend's list of passes (``cpu_generic.legalize_passes``), or of a rewriter.
    """
    found: dict[str, list[str]] = {}
    for name, place in sorted({*_python(), *_ffi(), *_pipelines(), *_rewriters()}):
        found.setdefault(name, []).append(place)
    return {name: tuple(places) for name, places in found.items()}


def _python() -> Iterator[tuple[str, str]]:
    for module in _modules():
        for name, value in vars(module).items():
            if name.startswith("_") or not _own(value):
                continue
            place = f"{module.__name__}.{name}".removeprefix("tvm.")
            if _lists_passes(module, name, value):
                yield f"{module.__name__.split('.')[-2]}.{name}", place
            elif _builds_a_pass(name, value):
                yield name, place


def _modules() -> Iterator[ModuleType]:
    """Yield the rooms and what is in them, but for what does not import here (it needs a library that is not
    installed).
    """
    for room in ROOMS:
        package = importlib.import_module(room)
        yield package
        for info in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{room}."):
            if "._" in info.name:
                continue
            try:
                yield importlib.import_module(info.name)
            except ImportError:
                continue


def _own(value: Any) -> bool:
    """Say whether Relax itself defines it: a pass that is an object tells nothing of where."""
    from tvm.ir.transform import Pass

    return isinstance(value, Pass) or str(getattr(value, "__module__", "")).startswith("tvm.relax")


def _lists_passes(module: ModuleType, name: str, value: Any) -> bool:
    """Say whether it is a function that gives a backend's passes: a list of them, or its whole pipeline."""
    own = callable(value) and getattr(value, "__module__", "") == module.__name__
    return own and ".backend." in module.__name__ and (name.endswith(_LISTS) or name == "get_default_pipeline")


def _builds_a_pass(name: str, value: Any) -> bool:
    from tvm.ir.transform import Pass

    if isinstance(value, Pass):
        return True  # a decorated function
    if isinstance(value, type):
        return issubclass(value, Pass)  # a decorated class
    returned = getattr(value, "__annotations__", {}).get("return")
    says_so = returned is Pass or str(returned).rpartition(".")[2] == "Pass"
    # Some wrappers are not annotated: a function that is named like a class builds a pass.
    return callable(value) and not name.startswith("get_") and (says_so or (name[0].isupper() and _is_function(value)))


def _is_function(value: Any) -> bool:
    return isinstance(value, FunctionType)


def _ffi() -> Iterator[tuple[str, str]]:
    from tvm_ffi.registry import list_global_func_names

    for name in list_global_func_names():
        if name.startswith(FFI_ROOMS):
            yield name.rpartition(".")[2], f"FFI {name}"


def _pipelines() -> Iterator[tuple[str, str]]:
    from tvm.relax.pipeline import PIPELINE_MAP

    for name in PIPELINE_MAP:
        yield f"pipeline {name}", f"relax.pipeline.PIPELINE_MAP[{name!r}]"


def _rewriters() -> Iterator[tuple[str, str]]:
    for room in REWRITERS:
        for name, value in vars(importlib.import_module(room)).items():
            if getattr(value, "__module__", "") == room and re.search("rewrite|^suggest_", name.lower()):
                yield name, f"{room}.{name}".removeprefix("tvm.")
    yield from USERS
