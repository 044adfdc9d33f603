"""Verdicts: what an oracle says of one subject, with the evidence behind it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

UNCHANGED = "pass changed nothing"
"""The numeric oracle's reason not to execute a module that came out as it went in: it computes what it computed."""
UNDECIDABLE = "undecidable: "
"""Reasons of comparisons that were made and cannot be decided begin with this; other skips compared nothing."""

NOT_AS_DOCUMENTED = "not-as-documented"
"""The kind of the numeric oracle's evidence that an operator is lowered to something else than is documented."""


class OracleName(str, enum.Enum):
    """The oracles, by the name that the command line, the store and the reports use."""

    CRASH = "crash"
    MUTATION = "mutation"
    DETERMINISM = "determinism"
    SEQUENTIAL = "sequential"
    IDEMPOTENCE = "idempotence"
    WELL_FORMED = "well-formed"
    POSTCONDITION = "postcondition"
    ROUNDTRIP = "roundtrip"
    LOCALITY = "locality"
    ENVIRONMENT = "environment"
    NUMERIC = "numeric"

    def __str__(self) -> str:
        return self.value


class Outcome(str, enum.Enum):
    """What an oracle can say.

    ``PASS`` and ``FAIL`` are judgements and make the pass rate.  ``SKIP``: the contract says
    that the oracle does not apply, or the comparison is not decidable.  ``REJECT``: the pass
    refused its input with a documented error.  ``INVALID``: our own harness was wrong.
    """

    PASS = "pass"
    FAIL = "fail"
    SKIP = "skip"
    REJECT = "reject"
    INVALID = "invalid"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was observed when an oracle failed.

    Attributes:
        kind: Short, stable class of the failure: the exception's type name, or one of
            ``not-equal``, ``ill-formed``, ``mutated``, ``wrong-value``, ``signal 11``, ``hang``, ``memory``.
        message: The message as TVM gave it, not yet normalised (``fuzzer.signatures`` does that).
        frames: Innermost first, ``file:function`` of the frames inside TVM, no line numbers.
        expected: What the oracle expected, for people.
        observed: What it saw instead, for people.
    """

    kind: str
    message: str
    frames: tuple[str, ...] = ()
    expected: str = ""
    observed: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One oracle's word on one subject.

    Attributes:
        oracle: Who judged.
        outcome: What it said.
        culprit: The pass that is judged; in a pipeline, the pass that is to blame.
        reason: Why it was skipped, rejected or invalid: a short phrase without names or numbers of
            the module, so that equal reasons can be counted.  Empty for pass and fail.
        evidence: Present exactly when the outcome is ``FAIL`` or ``INVALID``.
    """

    oracle: OracleName
    outcome: Outcome
    culprit: str
    reason: str = ""
    evidence: Evidence | None = None
