"""How passes are judged: contracts, oracles and the machinery behind them.

The names are imported on first use: the records of a campaign need verdicts only, and TVM takes a second to load.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import releases  # noqa: F401  (first of all: it prepares the installed TVM)

if TYPE_CHECKING:
    from oracles.check import OracleFailure, check
    from oracles.contract import Contract, default_contract
    from oracles.contracts import CONTRACTS, contract_for
    from oracles.facts import ModuleFacts
    from oracles.judge import judge
    from oracles.passref import PassRef
    from oracles.subject import Subject
    from oracles.verdict import Evidence, OracleName, Outcome, Verdict

__all__ = [
    "CONTRACTS",
    "Contract",
    "Evidence",
    "ModuleFacts",
    "OracleFailure",
    "OracleName",
    "Outcome",
    "PassRef",
    "Subject",
    "Verdict",
    "check",
    "contract_for",
    "default_contract",
    "judge",
]

_HOMES = {
    "CONTRACTS": "contracts",
    "Contract": "contract",
    "Evidence": "verdict",
    "ModuleFacts": "facts",
    "OracleFailure": "check",
    "OracleName": "verdict",
    "Outcome": "verdict",
    "PassRef": "passref",
    "Subject": "subject",
    "Verdict": "verdict",
    "check": "check",
    "contract_for": "contracts",
    "default_contract": "contract",
    "judge": "judge",
}

if not TYPE_CHECKING:  # a type checker would take any name for one that exists

    def __getattr__(name: str) -> Any:
        """A public name, from the module that defines it."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """The package: ``check`` and ``judge`` mean the functions, although modules of these names define them."""

    def __setattr__(self, name: str, value: object) -> None:
        # Having imported a submodule, the import system binds it under its name in the package.
        if _HOMES.get(name) == name and isinstance(value, ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
