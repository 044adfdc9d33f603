"""The public face of relaxfuzz: draw Relax modules, judge passes of TVM's compiler and passes of your own.

    from hypothesis import given
    from relaxfuzz import check, ir_modules

    @given(ir_modules())
    def test_my_pass(module):
        check(module, MyPass())

Names are imported on first use, so that importing this package, as pytest does in every run, does not load TVM.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # isort: off
    from oracles import (
        CONTRACTS, Contract, Evidence, Idempotence, Kept, Locality, ModuleFacts, NumericPromise, OracleFailure,
        OracleName, Outcome, PassRef, Postcondition, Proof, Ran, Refusal, Subject, Verdict, check, contract_for,
        default_contract, judge, prove,
    )  # fmt: skip
    from strategies import (
        Feature, Fragment, features_of, ir_modules, module_and_passes, operators_of, passes, passes_for, pipelines,
    )  # fmt: skip

__all__ = [
    "CONTRACTS", "Contract", "Evidence", "Feature", "Fragment", "Idempotence", "Kept", "Locality",
    "ModuleFacts", "NumericPromise", "OracleFailure", "OracleName", "Outcome", "PassRef", "Postcondition", "Proof",
    "Ran", "Refusal", "Subject", "Verdict", "check", "contract_for", "default_contract", "features_of", "ir_modules",
    "judge", "module_and_passes", "operators_of", "passes", "passes_for", "pipelines", "prove",
]  # fmt: skip

if not TYPE_CHECKING:  # a type checker would take any name for one that exists

    def __getattr__(name: str) -> Any:
        """Import a public name from the package that defines it."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        oracles = importlib.import_module("oracles")  # first, because it loads TVM only where a name needs it
        value = getattr(oracles if name in oracles.__all__ else importlib.import_module("strategies"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
