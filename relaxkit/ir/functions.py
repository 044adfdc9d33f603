"""The functions of a module: by name, by symbol, by what they call.

Everything here sees Relax functions in the order of their names, unless it says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import tvm
from tvm import relax

if TYPE_CHECKING:
    from tvm.ir import BaseFunc, GlobalVar

T = TypeVar("T")


def relax_functions(module: tvm.IRModule) -> Iterator[tuple[str, relax.Function]]:
    """Yield the Relax functions of the module with their names."""
    for var, function in relax_items(module):
        yield var.name_hint, function


def relax_items(module: tvm.IRModule) -> list[tuple[GlobalVar, relax.Function]]:
    """Return the Relax functions of the module with their ``GlobalVar``."""
    return [item for item in module.functions_items() if isinstance(item[1], relax.Function)]


def private_relax_functions(module: tvm.IRModule) -> Iterator[tuple[GlobalVar, relax.Function]]:
    """Yield the Relax functions without ``global_symbol``, with their ``GlobalVar``."""
    return (item for item in relax_items(module) if not is_public(item[1]))


def public_functions(module: tvm.IRModule) -> dict[str, relax.Function]:
    """Return the Relax functions with a ``global_symbol``, by that symbol, in the module's order."""
    relaxed = (function for function in module.functions.values() if isinstance(function, relax.Function))
    return {symbol: function for function in relaxed if (symbol := symbol_of(function))}


def functions_by_name(module: tvm.IRModule) -> dict[str, BaseFunc]:
    """Return all functions of the module, of every kind, by the names of their ``GlobalVar``."""
    return {str(var.name_hint): function for var, function in module.functions_items()}


def functions_by_symbol(module: tvm.IRModule) -> dict[str, BaseFunc]:
    """Return all functions: public ones by their symbols, private ones by the names of their ``GlobalVar``."""
    return {symbol_of(function) or name: function for name, function in functions_by_name(module).items()}


def function_name(module: tvm.IRModule, symbol: str) -> str:
    """Return the name of the public function of that symbol; raises ``KeyError`` where there is none."""
    return name_in(module, public_functions(module)[symbol])


def name_in(module: tvm.IRModule, function: BaseFunc) -> str:
    """Return the name that a function, the same object, has in the module; raises ``StopIteration`` without one."""
    return str(next(var.name_hint for var, each in module.functions_items() if each.same_as(function)))


def is_public(function: BaseFunc) -> bool:
    """Say whether a function has a ``global_symbol``: callers outside of the module may know it."""
    return has_attribute(function, "global_symbol")


def is_composite(function: BaseFunc) -> bool:
    """Say whether a function is one of a pattern or of an external code generator (``Composite``, ``Codegen``)."""
    return has_attribute(function, "Composite") or has_attribute(function, "Codegen")


def symbol_of(function: BaseFunc) -> str:
    """Return the ``global_symbol`` of a function, of whatever kind; empty where it has none."""
    attrs = getattr(function, "attrs", None)
    return str(attrs["global_symbol"]) if attrs is not None and "global_symbol" in attrs else ""


def has_attribute(function: BaseFunc, key: str) -> bool:
    """Say whether a function, of whatever kind, carries the attribute."""
    attrs = getattr(function, "attrs", None)
    return attrs is not None and key in attrs


def attributes(function: BaseFunc) -> dict[str, Any]:
    """Return the attributes of a function as a dictionary; empty where it has none."""
    return {} if function.attrs is None else {str(key): function.attrs[key] for key in function.attrs.keys()}  # noqa: SIM118  # it iterates over numbers


def mentioned_functions(function: relax.Function) -> list[GlobalVar]:
    """Return every ``GlobalVar`` that a Relax function mentions, as callee or as value."""
    return list(relax.analysis.all_global_vars(function))


def mentioned_names(function: relax.Function) -> set[str]:
    """Return the names of the functions that a Relax function mentions."""
    return {str(var.name_hint) for var in mentioned_functions(function)}


def called_names(module: tvm.IRModule) -> set[str]:
    """Return the names of the functions that Relax functions of the module mention."""
    return {name for _, function in relax_functions(module) for name in mentioned_names(function)}


def closed(start: Iterable[T], following: Callable[[T], Iterable[T]]) -> set[T]:
    """Return some things with all that follows from them, step by step."""
    found: set[T] = set()
    waiting = list(start)
    while waiting:
        if (each := waiting.pop()) not in found:
            found.add(each)
            waiting += following(each)
    return found


def reached_functions(module: tvm.IRModule, entries: Iterable[str]) -> set[str]:
    """Return the names of the functions that those named in ``entries`` reach, themselves included.

    Kernels call nothing here: a kernel that calls another through its ``GlobalVar`` is not followed.
    """
    known, relaxed = functions_by_name(module), dict(relax_functions(module))
    entered = (name for name in entries if name in known)
    return closed(entered, lambda name: mentioned_names(relaxed[name]) if name in relaxed else ())


def private_call_depth(module: tvm.IRModule) -> int:
    """Return the longest chain of calls through private Relax functions; 0 without any (recursion counts once)."""
    private = {var: mentioned_functions(function) for var, function in private_relax_functions(module)}
    depths: dict[GlobalVar, int] = {}

    def depth(var: GlobalVar) -> int:
        if var not in private:
            return 0
        if var not in depths:
            depths[var] = 1  # what a recursive call sees
            depths[var] = 1 + max((depth(callee) for callee in private[var]), default=0)
        return depths[var]

    return max((depth(var) for var in private), default=0)
