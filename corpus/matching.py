"""Which findings of a campaign are defects that the corpus knows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from corpus.campaign import FoundFailure
from corpus.case import KnownCase
from oracles.verdict import Outcome


@dataclass(frozen=True, slots=True)
class Match:
    """A finding and the cases that look like it.

    Attributes:
        failure: The finding.
        cases: Cases of its oracle and pass whose pattern is found in what it says.
        possible: Cases of its oracle and pass that have no pattern, so that nothing but oracle and pass agree.
    """

    failure: FoundFailure
    cases: tuple[KnownCase, ...]
    possible: tuple[KnownCase, ...]


def match(failures: Sequence[FoundFailure], cases: Sequence[KnownCase], version: str) -> list[Match]:
    """The cases that look like each finding.

    A case is compared by what it expects of ``version``, or of the newest TVM that it is known to fail on.
    """
    matches = []
    for failure in failures:
        near = [(case, _pattern(case, version)) for case in cases if _same_place(case, failure)]
        fitting = tuple(case for case, pattern in near if pattern and re.search(pattern, failure.seen))
        matches.append(Match(failure, fitting, tuple(case for case, pattern in near if pattern == "")))
    return matches


def _same_place(case: KnownCase, failure: FoundFailure) -> bool:
    culprits = {case.culprit} if case.culprit else {ref.name for ref in case.passes}
    return str(case.oracle) == failure.oracle and failure.culprit in culprits


def _pattern(case: KnownCase, version: str) -> str | None:
    """What the failure of a case says; ``None`` when the case fails nowhere."""
    exact = case.expectation_for(version)
    failing = [each for each in case.expected.values() if each.outcome is Outcome.FAIL]
    if exact is not None and exact.outcome is Outcome.FAIL:
        return exact.pattern
    return failing[-1].pattern if failing else None
