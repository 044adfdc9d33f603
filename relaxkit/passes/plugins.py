"""Plugins: contracts, oracles, passes and module strategies that somebody else brings.

Which plugins are active stands in an environment variable, so that every process that is started from this one has the
same; a campaign keeps them in its configuration as well, and whoever opens its directory loads them again.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from relaxkit.files import resolved
from relaxkit.passes.contract import Contract, OracleName, Postcondition, Ran
from relaxkit.passes.pass_ref import USER_PREFIX, PassRef, PassReferenceError, import_file

GROUP = "relaxfuzz.plugins"
VARIABLE = "RELAXFUZZ_PLUGINS"
ATTRIBUTE = "PLUGIN"


class PluginError(ValueError):
    """A plugin that cannot be used; the message is one line."""


@dataclass(frozen=True, slots=True)
class OwnOracle:
    """An oracle of somebody else's: it looks at one run of a pass and says what is wrong.

    Its failures are the ``postcondition`` oracle's, with ``name`` as the claim, in signatures, reports and the gate.

    Attributes:
        name: What it demands, in a short phrase (``no call_tir names a missing function``).
        violation: As ``Postcondition.violation``: what contradicts it, empty when nothing does; a function at the top
            level of its file, so that a script finds it.
        source: What establishes that it may be demanded.
        passes: Names of the passes that are held to it; ``None``: all.
    """

    name: str
    violation: Callable[[Ran], str]
    source: str
    passes: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Plugin:
    """Things that a module brings under the name ``PLUGIN``.

    Attributes:
        passes: Names of functions of the same module that build a pass each, as ``--pass`` takes them; what a pass
            promises is the function's attribute ``contract``.
        contracts: Of passes without such an attribute, by their names, as those that C++ registered.
        oracles: Asked besides all others.
        modules: Gives a Hypothesis strategy of modules; half of a campaign's modules come from such strategies.
    """

    passes: tuple[str, ...] = ()
    contracts: tuple[Contract, ...] = ()
    oracles: tuple[OwnOracle, ...] = ()
    modules: Callable[[], Any] | None = None


@dataclass(frozen=True, slots=True)
class Active:
    """The plugins that are active, joined.

    Attributes:
        targets: What they were asked for by.
        places: The modules or files that they are in.
        modules: What gives their strategies.
    """

    targets: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    passes: tuple[PassRef, ...] = ()
    contracts: dict[str, Contract] = field(default_factory=dict)
    oracles: tuple[OwnOracle, ...] = ()
    modules: tuple[Callable[[], Any], ...] = ()


def require(targets: Iterable[str]) -> Active:
    """Activate plugins here and in all processes that will be started from here.

    Args:
        targets: Each the name of an entry point of the group ``relaxfuzz.plugins``, ``FILE.py``, or a module.

    Raises:
        PluginError: One of them cannot be had, is no plugin, or clashes with another.
    """
    before = os.environ.get(VARIABLE, "")
    wanted = [_absolute(target) for target in targets]
    found = _joined(os.pathsep.join(dict.fromkeys([*_split(before), *wanted])))
    announce(wanted)
    return found


def announce(targets: Iterable[str]) -> None:
    """Activate plugins without loading them yet: who only reads a campaign needs none."""
    text = os.pathsep.join(dict.fromkeys([*_split(os.environ.get(VARIABLE, "")), *targets]))
    if text:
        os.environ[VARIABLE] = text


def active() -> Active:
    """Return the plugins that this process was told of; raises ``PluginError``."""
    return _joined(os.environ.get(VARIABLE, ""))


def with_oracles(contract: Contract, name: str) -> Contract:
    """Return a contract of the pass of this name with what the active plugins demand besides."""
    claims = tuple(
        Postcondition(oracle.name, oracle.violation, oracle.source)
        for oracle in active().oracles
        if oracle.passes is None or name in oracle.passes
    )
    return replace(contract, postconditions=(*contract.postconditions, *claims)) if claims else contract


@functools.cache
def _joined(text: str) -> Active:
    targets = _split(text)
    passes: dict[str, PassRef] = {}
    contracts: dict[str, Contract] = {}
    oracles: dict[str, OwnOracle] = {}
    modules, places = [], []
    for target in targets:
        plugin, where = _load(target)
        places.append(where)
        for name in plugin.passes:
            _unique(passes, name, PassRef(name, f"{USER_PREFIX}{where}:{name}"), f"plugin '{target}': pass '{name}'")
        for contract in plugin.contracts:
            _unique(contracts, contract.name, contract, f"plugin '{target}': contract of '{contract.name}'")
        for oracle in plugin.oracles:
            what = f"plugin '{target}': oracle '{oracle.name}'"
            if oracle.name in [each.value for each in OracleName]:
                raise PluginError(f"{what} has the name of an oracle of relaxfuzz")
            _unique(oracles, oracle.name, oracle, what)
        if plugin.modules is not None:
            modules.append(plugin.modules)
    _no_row_of_ours(contracts, passes)
    ours = (tuple(passes.values()), contracts, tuple(oracles.values()), tuple(modules))
    return Active(targets, tuple(places), *ours)


def _load(target: str) -> tuple[Plugin, str]:
    """Return the plugin, and the module or file that it is in."""
    entry = next((each for each in importlib.metadata.entry_points(group=GROUP) if each.name == target), None)
    where, attribute = (entry.module, entry.attr or ATTRIBUTE) if entry is not None else (target, ATTRIBUTE)
    try:
        module: ModuleType = import_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
    except PassReferenceError as error:
        raise PluginError(f"plugin {error}") from error
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        said = (str(error).strip().splitlines() or [""])[0]
        raise PluginError(f"plugin '{target}' cannot be imported: {type(error).__name__}: {said}") from error
    plugin = getattr(module, attribute, None)
    if not isinstance(plugin, Plugin):
        kind = "there is none" if plugin is None else f"its type is {type(plugin).__name__}"
        raise PluginError(f"plugin '{target}' has no {attribute} that is a relaxkit.passes.plugins.Plugin: {kind}")
    for name in plugin.passes:
        if not callable(getattr(module, name, None)):
            raise PluginError(f"plugin '{target}' has no function '{name}' that builds a pass")
    if not (plugin.passes or plugin.contracts or plugin.oracles or plugin.modules):
        raise PluginError(f"plugin '{target}' provides nothing")
    return plugin, where


def _unique(table: dict[str, Any], name: str, value: Any, what: str) -> None:
    if name in table:
        raise PluginError(f"{what} is defined twice")
    table[name] = value


def _no_row_of_ours(contracts: dict[str, Contract], passes: dict[str, PassRef]) -> None:
    if not contracts and not passes:
        return
    from relaxkit.passes.contracts.table import CONTRACTS

    for name in (*contracts, *passes):
        if name in CONTRACTS:
            raise PluginError(f"a plugin's pass '{name}' has the name of a TVM pass that has a contract")


def _split(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(os.pathsep) if part)


def _absolute(target: str) -> str:
    # A worker, and who opens the campaign later, may run somewhere else.
    return str(resolved(Path(target))) if target.endswith(".py") else target
