"""Environment oracle: does the pass give the same under other circumstances?"""

from __future__ import annotations

from oracles.subject import Subject
from oracles.verdict import OracleName, Outcome, Verdict


def judge(subject: Subject) -> Verdict:
    """Not built yet."""
    return Verdict(OracleName.ENVIRONMENT, Outcome.SKIP, subject.judged, "not built yet")
