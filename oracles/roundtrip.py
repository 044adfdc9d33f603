"""Roundtrip oracle: does the result survive TVMScript print and parse, and JSON?"""

from __future__ import annotations

from oracles.subject import Subject
from oracles.verdict import OracleName, Outcome, Verdict


def judge(subject: Subject) -> Verdict:
    """Not built yet."""
    return Verdict(OracleName.ROUNDTRIP, Outcome.SKIP, subject.judged, "not built yet")
