"""What mutations share: the functions of a module to choose from, and modules with other functions in their place."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from strategies.choices import Choices
from strategies.copying import attributes

_SET_ASIDE = frozenset({"Primitive", "Composite", "Codegen"})
"""Functions whose body others rely on as it is."""


class Unchanged(Exception):
    """A mutation that finds nothing to act on."""


def name_of(item: tuple[Any, Any]) -> str:
    """Name of a function, given with its variable: a sorting key."""
    return str(item[0].name_hint)


def functions_of(module: Any, *, anything: bool = False) -> list[tuple[Any, Any]]:
    """The Relax functions by name; without ``anything``, those whose body nobody relies on as it is."""
    found = [(var, function) for var, function in module.functions.items() if isinstance(function, relax.Function)]
    return sorted((pair for pair in found if anything or not _SET_ASIDE & set(attributes(pair[1]))), key=name_of)


def pick_function(choices: Choices, module: Any, *, anything: bool = False) -> tuple[Any, Any]:
    """One of :func:`functions_of`, as variable and function; raises ``Unchanged`` when there is none."""
    functions = functions_of(module, anything=anything)
    if not functions:
        raise Unchanged
    return choices.pick(functions)


def count_bindings(function: Any) -> int:
    """How many bindings a copy of a function meets that are no casts."""
    found: list[int] = []

    def look(expr: Any) -> None:
        if isinstance(expr, relax.SeqExpr):
            found.append(sum(not isinstance(each, relax.MatchCast) for block in expr.blocks for each in block.bindings))

    relax.analysis.post_order_visit(function.body, look)
    return sum(found)


def fresh_name(module: Any, name: str) -> str:
    """``name``, or that with the first number that makes it new."""
    taken = {var.name_hint for var in module.functions}
    number = 0
    while (made := f"{name}{number or ''}") in taken:
        number += 1
    return made


def replaced(module: Any, functions: dict[Any, Any]) -> Any:
    """The module with other functions in the place of some."""
    whole = {**dict(module.functions.items()), **functions}
    return tvm.IRModule(whole, attrs=module.attrs, global_infos=module.global_infos)
