"""Known modules with expected verdicts: TVM's defects, live and repaired, that an oracle must catch.

``load()`` gives the cases, ``check_cases`` judges them in child processes against the installed TVM.
"""

from corpus.case import CaseError, Expectation, KnownCase, Replica
from corpus.check import CheckResult, Observation, check_case, check_cases
from corpus.loader import load, load_module

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
