"""The corpus at the start of a campaign: the cases of the passes under test, judged again.

``fuzzer.campaign.regression.GROUP`` says what is called and what it yields.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from corpus.case import KnownCase, load
from corpus.check import CheckResult, check_cases, tvm_version
from fuzzer.store.records import EarlierState
from oracles.core.verdict import Outcome

_TOGETHER = 12
"""Cases that share a process: it takes time to start, and the caller may stop between two."""


def regress(passes: Sequence[str], oracles: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """Judge the cases of these passes and oracles on the installed TVM; the live defects come first."""
    version = tvm_version()
    cases = [case for case in load() if str(case.oracle) in oracles and all(ref.name in passes for ref in case.passes)]
    cases.sort(key=lambda case: (_expected(case, version) is not Outcome.FAIL, case.slug))
    several = iter(cases)
    while group := list(itertools.islice(several, _TOGETHER)):
        # Replicas are for the oracles: they stand for a TVM that is not installed.
        for result in check_cases([msgspec.structs.replace(case, replica=None) for case in group], version):
            yield _outcome(result, version)


def _expected(case: KnownCase, version: str) -> Outcome:
    """Return what the case says of a release, or of the newest that it speaks of."""
    return case.expected.get(version) or list(case.expected.values())[-1]


def _outcome(result: CheckResult, version: str) -> dict[str, str]:
    case, seen = result.case, result.verdict
    failed_before = _expected(case, version) is Outcome.FAIL
    if seen.outcome is Outcome.FAIL:
        state = (EarlierState.FAILS if result.ok else EarlierState.CHANGED) if failed_before else EarlierState.REGRESSED
    elif seen.outcome in (Outcome.PASS, Outcome.REJECT):
        state = EarlierState.FIXED if failed_before else EarlierState.HOLDS
    else:
        state = EarlierState.UNDECIDED
    note = "" if state in (EarlierState.FAILS, EarlierState.HOLDS) else f"{seen.oracle}: {result.text}"
    return {
        "id": case.slug, "oracle": str(case.oracle), "pass": case.blamed, "message": case.title, "state": state.value,
        "note": note,
    }  # fmt: skip
