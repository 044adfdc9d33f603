"""Known modules with expected verdicts: TVM's defects, live and repaired, that an oracle must catch.

``load()`` gives the cases, ``check_cases`` judges them in child processes against the installed TVM.
"""

import importlib
from typing import TYPE_CHECKING, Any

import releases  # noqa: F401  (first of all: it prepares the installed TVM)

if TYPE_CHECKING:
    from corpus.case import CaseError, Expectation, KnownCase, Replica
    from corpus.check import CheckResult, Observation, check_case, check_cases
    from corpus.loader import load, load_module

# Imported when asked for: the command line loads `corpus.verb` for its one line of help, long before TVM is needed.
_HOMES = {
    "CaseError": "case", "Expectation": "case", "KnownCase": "case", "Replica": "case",
    "CheckResult": "check", "Observation": "check", "check_case": "check", "check_cases": "check",
    "load": "loader", "load_module": "loader",
}  # fmt: skip

__all__ = [
    "CaseError",
    "CheckResult",
    "Expectation",
    "KnownCase",
    "Observation",
    "Replica",
    "check_case",
    "check_cases",
    "load",
    "load_module",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'corpus' has no attribute '{name}'")
    return getattr(importlib.import_module(f"corpus.{_HOMES[name]}"), name)
