"""The corpus at the start of a campaign: the cases of the passes under test, judged again.

``fuzzer.regression.GROUP`` says what is called and what it gives; this room may not import it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from corpus.case import Expectation, KnownCase
from corpus.check import CheckResult, check_cases, tvm_version
from corpus.loader import load
from oracles.verdict import Outcome

_TOGETHER = 12
"""Cases that share a child process: it takes a second to start, and its caller may stop between two."""


def regress(passes: Sequence[str], oracles: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """Judge the cases of these passes and oracles on the installed TVM; the live defects come first."""
    version = tvm_version()
    cases = [case for case in load() if str(case.oracle) in oracles and all(ref.name in passes for ref in case.passes)]
    cases.sort(key=lambda case: (_expected(case, version).outcome is not Outcome.FAIL, case.slug))
    several = iter(cases)
    while group := list(itertools.islice(several, _TOGETHER)):
        # Replicas are for the oracles: they stand for a TVM that is not installed.
        for result in check_cases([replace(case, replica=None) for case in group], version):
            yield _said(result, version)


def _expected(case: KnownCase, version: str) -> Expectation:
    """What the case says of a release, or of the newest that it speaks of."""
    return case.expectation_for(version) or list(case.expected.values())[-1]


def _said(result: CheckResult, version: str) -> dict[str, str]:
    case, seen = result.case, result.observation
    failed_before = _expected(case, version).outcome is Outcome.FAIL
    if seen.outcome is Outcome.FAIL:
        state = ("fails" if result.ok else "changed") if failed_before else "regressed"
    elif seen.outcome in (Outcome.PASS, Outcome.REJECT):
        state = "fixed" if failed_before else "holds"
    else:
        state = "undecided"
    note = "" if state in ("fails", "holds") else f"{seen.oracle}: {seen.text}"
    return {
        "id": case.slug, "oracle": str(case.oracle), "pass": case.blamed, "message": case.title, "state": state,
        "note": note,
    }  # fmt: skip
