"""Give the installed TVM the names that it lacks."""

from __future__ import annotations

import functools
import inspect
import sys
from types import ModuleType
from typing import Any

from relaxkit.compat.shims import adopt_remaps, adopt_scalars, adopt_walks, found, publish
from relaxkit.compat.tables import (
    ALIASES,
    ARGUMENTS,
    ATTRIBUTES,
    DEMANDS,
    KEYWORDS,
    Alias,
    Argument,
    Attribute,
    Demand,
    Keyword,
)

ADDED: list[str] = []
"""Names that the installed TVM was given."""


def adopt() -> None:
    """Apply the tables to the installed TVM; where it has every name, as the newest release, nothing changes."""
    for alias in ALIASES:
        _alias(alias)
    for attribute in ATTRIBUTES:
        _attribute(attribute)
    for keyword in KEYWORDS:
        _keyword(keyword)
    for argument in ARGUMENTS:
        _argument(argument)
    for demand in DEMANDS:
        _demand(demand)
    adopt_scalars()
    adopt_remaps()
    adopt_walks()


def _alias(row: Alias) -> None:
    parent_path, _, name = row.new.rpartition(".")
    parent, meaning = found(parent_path), found(row.old)
    if parent is None or meaning is None or (hasattr(parent, name) and not row.rebinds):
        return
    setattr(parent, name, meaning)
    ADDED.append(row.new)
    if isinstance(meaning, ModuleType):
        sys.modules.setdefault(row.new, meaning)


def _attribute(row: Attribute) -> None:
    owner = found(row.owner)
    if owner is None or hasattr(owner, row.new):
        return
    ADDED.append(f"{row.owner}.{row.new}")
    setattr(owner, row.new, property(lambda self: getattr(self, row.old), doc=f"``{row.old}``"))


def _keyword(row: Keyword) -> None:
    function = found(row.function)
    if function is None:
        return
    if isinstance(function, type):
        _replace(f"{row.function}.__init__", function.__init__, row)  # type: ignore[misc]  # that of this class is meant
    else:
        _replace(row.function, function, row)


def _replace(path: str, function: Any, row: Keyword) -> None:
    if row.old in inspect.signature(function).parameters:
        publish(path, _translating(function, row.new, row.old))


def _translating(function: Any, new: str, old: str) -> Any:
    @functools.wraps(function)
    def translating(*arguments: Any, **keywords: Any) -> Any:
        if new in keywords:
            keywords[old] = keywords.pop(new)
        return function(*arguments, **keywords)

    return translating


def _argument(row: Argument) -> None:
    function = found(row.function)
    if function is None or row.name in inspect.signature(function).parameters:
        return
    publish(row.function, _shortened(function, row.name))


def _shortened(function: Any, surplus: str) -> Any:
    parameters = inspect.signature(function).parameters.values()
    most = None if any(each.kind is each.VAR_POSITIONAL for each in parameters) else len(parameters)

    @functools.wraps(function)
    def shortened(*arguments: Any, **keywords: Any) -> Any:
        keywords.pop(surplus, None)
        return function(*arguments[:most], **keywords)

    return shortened


def _demand(row: Demand) -> None:
    function = found(row.function)
    parameters = inspect.signature(function).parameters if function is not None else {}
    if any(name in parameters and parameters[name].default is inspect.Parameter.empty for name in row.names):
        publish(row.function, _supplied(function, row.names))


def _supplied(function: Any, names: tuple[str, ...]) -> Any:
    @functools.wraps(function)
    def supplied(*arguments: Any, **keywords: Any) -> Any:
        given = inspect.signature(function).bind_partial(*arguments, **keywords).arguments
        return function(*arguments, **keywords, **{name: {} for name in names if name not in given})

    return supplied
