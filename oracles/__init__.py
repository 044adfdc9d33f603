"""The judgement of passes: contracts, oracles and the machinery behind them.

The names are imported on first use: the records of a campaign need verdicts only, and TVM takes a second to load.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import relaxkit.compat  # noqa: F401  (first of all: it prepares the installed TVM)

if TYPE_CHECKING:
    from oracles.check import OracleFailure, check
    from oracles.core.module_facts import ModuleFacts
    from oracles.core.subject import Subject
    from oracles.core.verdict import Evidence, Outcome, Verdict
    from oracles.judge import judge
    from relaxkit.passes.contract import (
        Contract,
        Idempotence,
        Kept,
        Locality,
        NumericPromise,
        OracleName,
        Postcondition,
        Ran,
        Refusal,
        default_contract,
    )
    from relaxkit.passes.contracts import CONTRACTS, contract_for
    from relaxkit.passes.pass_ref import PassRef
    from relaxkit.proof import Proof, prove

__all__ = [
    "CONTRACTS", "Contract", "Evidence", "Idempotence", "Kept", "Locality", "ModuleFacts", "NumericPromise",
    "OracleFailure", "OracleName", "Outcome", "PassRef", "Postcondition", "Proof", "Ran", "Refusal", "Subject",
    "Verdict", "check", "contract_for", "default_contract", "judge", "prove",
]  # fmt: skip

_HOMES = {
    name: home
    for home, names in {
        "oracles.check": "OracleFailure check",
        "oracles.core.module_facts": "ModuleFacts",
        "oracles.core.subject": "Subject",
        "oracles.core.verdict": "Evidence OracleName Outcome Verdict",
        "oracles.judge": "judge",
        "relaxkit.passes.contract": "Contract Idempotence Kept Locality NumericPromise Postcondition Ran "
        "Refusal default_contract",
        "relaxkit.passes.contracts": "CONTRACTS contract_for",
        "relaxkit.passes.pass_ref": "PassRef",
        "relaxkit.proof": "Proof prove",
    }.items()
    for name in names.split()
}

if not TYPE_CHECKING:  # a type checker would take any name for one that exists

    def __getattr__(name: str) -> Any:
        """A public name, from the module that defines it."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """The package: ``check`` and ``judge`` mean the functions, although modules of these names define them."""

    def __setattr__(self, name: str, value: object) -> None:
        # Having imported a submodule, the import system binds it under its name in the package.
        if _HOMES.get(name) == f"{__name__}.{name}" and isinstance(value, ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
