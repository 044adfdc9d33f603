"""The proof of what a subject's passes leave of its results, alone."""

from __future__ import annotations

from oracles.calling import NoAdapter
from oracles.core.subject import Subject
from oracles.numeric.compare_call import candidate_of
from oracles.numeric.oracle import _may_change, _original, _proof, _unfit
from relaxkit.passes.arguments import NotLiteral
from relaxkit.proof import Proof, Result


def no_results(subject: Subject) -> str:
    """Say why there are no results to compare; raises ``NotLiteral`` where nothing tells what a pass fixes."""
    return _unfit(subject) or _may_change(subject, _original(subject))


def proof_of(subject: Subject) -> Proof:
    """Compare a subject's results before and after its passes for all inputs, by terms; nothing is executed.

    Returns:
        ``OPEN``, too, where there is no result to compare, or callers must change in a way that no adapter knows.
    """
    try:
        if reason := no_results(subject):
            return Proof(Result.OPEN, "", reason)
        original = _original(subject)
        return _proof(original, candidate_of(subject, original, len(subject.plan.steps) - 1), subject)
    except (NoAdapter, NotLiteral) as error:
        return Proof(Result.OPEN, "", str(error))
