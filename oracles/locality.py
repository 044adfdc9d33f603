"""Locality oracle: does an unrelated function change what the pass does to this one?"""

from __future__ import annotations

from oracles.subject import Subject
from oracles.verdict import OracleName, Outcome, Verdict


def judge(subject: Subject) -> Verdict:
    """Not built yet."""
    return Verdict(OracleName.LOCALITY, Outcome.SKIP, subject.judged, "not built yet")
