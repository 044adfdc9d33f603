"""Planted bugs for the environment oracle: passes that look at what is around them.

Each sets an attribute, which harms nobody, but not the same under all circumstances.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import tvm
from tvm import relax

from relaxkit.passes.contract import Locality, default_contract


def _mark(name: str, value: Callable[[Any, Any], int]) -> Any:
    """A pass that sets an attribute on every Relax function, the number that ``value(function, context)`` gives."""

    def run(mod: Any, context: Any) -> Any:
        result = mod.clone()
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function):
                result.update_func(variable, function.with_attr("around", value(function, context)))
        return result

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def _promising(**changes: Any) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Give a factory the contract of a pass without one, but for some fields."""

    def decorate(factory: Callable[[], Any]) -> Callable[[], Any]:
        factory.contract = replace(default_contract(factory.__name__), **changes)  # type: ignore[attr-defined]  # where it is looked for
        return factory

    return decorate


def watched() -> Any:
    """Takes an instrument in the context for a sign that somebody debugs it."""
    return _mark("watched", lambda function, context: len(context.instruments))


def watched_clean() -> Any:
    """Does not look at instruments."""
    return _mark("watched", lambda function, context: 0)


@_promising(environment=())
def level() -> Any:
    """Treats functions with several parameters otherwise from level 3 on."""
    return _mark("level", lambda function, context: int(context.opt_level > 2 and len(function.params) > 1))


@_promising(environment=())
def level_clean() -> Any:
    """Asks for the number of parameters only."""
    return _mark("level", lambda function, context: int(len(function.params) > 1))


@_promising(environment=())
def target() -> Any:
    """Does its work only where there is a target, without saying so."""
    return _mark("target", lambda function, context: int(tvm.target.Target.current() is not None))


@_promising(environment=())
def target_clean() -> Any:
    """Needs no target."""
    return _mark("target", lambda function, context: 1)


def _weights(mod: Any) -> bool:
    return any("num_input" in (function.attrs or {}) for _, function in mod.functions_items())


@_promising(locality=Locality.MODULE)
def sticky() -> Any:
    """Once it has met a module with weights, it takes every module for one."""
    seen: list[bool] = []

    def run(mod: Any, context: Any) -> Any:
        if _weights(mod):
            seen.append(True)
        return _mark("marks", lambda function, context: len(seen[:1]))(mod)

    return tvm.transform.module_pass(run, opt_level=0, name="sticky")


@_promising(locality=Locality.MODULE)
def sticky_clean() -> Any:
    """Looks at each module by itself."""

    def run(mod: Any, context: Any) -> Any:
        found = _weights(mod)
        return _mark("marks", lambda function, context: int(found))(mod)

    return tvm.transform.module_pass(run, opt_level=0, name="sticky")


_SCRATCH = threading.local()
_SCRATCH.depth = 0  # of the thread that imports this file, and of no other


def own_thread() -> Any:
    """Has its scratch space in the first thread only."""
    return _mark("own_thread", lambda function, context: int(_SCRATCH.depth))


def own_thread_clean() -> Any:
    """Makes its scratch space where there is none."""
    return _mark("own_thread", lambda function, context: int(getattr(_SCRATCH, "depth", 0)))


_BUILT: list[str] = []


def numbered() -> Any:
    """Each object of the pass has another number, and writes it into modules."""
    _BUILT.append("numbered")
    number = len(_BUILT)
    return _mark("numbered", lambda function, context: number)


def numbered_clean() -> Any:
    """Each object of the pass has another number, and keeps it for itself."""
    _BUILT.append("numbered_clean")
    return _mark("numbered", lambda function, context: 0)


def _overwrite(mod: Any, _context: Any) -> Any:
    for variable, function in mod.functions_items():
        if isinstance(function, relax.Function):
            mod.update_func(variable, function.with_attr("around", 1))
    return mod


def part_overwrites() -> Any:
    """A part of it writes into its input, which is a copy that the part before it made."""
    copies = tvm.transform.module_pass(lambda mod, _context: mod.clone(), opt_level=0, name="copies")
    overwrites = tvm.transform.module_pass(_overwrite, opt_level=0, name="overwrites")
    return tvm.transform.Sequential([copies, overwrites], name="part_overwrites")


def part_overwrites_clean() -> Any:
    """Its parts give copies."""
    copies = tvm.transform.module_pass(lambda mod, _context: mod.clone(), opt_level=0, name="copies")
    return tvm.transform.Sequential([copies, _mark("marks", lambda function, context: 1)], name="part_overwrites")
