"""A ruling: one demand, what was measured, and what follows.  The gate's verdict is the worst of them."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fuzzer.core.text import printable
from relaxkit.text_enum import TextEnum

MOST = 10
"""So many lines of a kind are shown; more are counted."""


class GateExit(enum.IntEnum):
    """Exit codes; a usage or configuration error outranks a failure, a failure outranks missing evidence."""

    PASSED = 0
    FAILED = 1
    USAGE = 2
    NO_EVIDENCE = 3


class RulingStatus(TextEnum):
    """Statuses of rulings, in the order in which they are explained."""

    FAIL = "FAIL"
    SHORT = "SHORT"  # not enough evidence to say either
    OK = "ok"
    KNOWN = "known"  # excused by an entry that somebody reviewed
    QUESTION = "question"  # against a claim of ours
    SUSPECT = "suspect"  # seen, but not proven
    NOTE = "note"  # decides nothing


class Requirement(TextEnum):
    """Subjects of rulings; the names are the policy's keys where there is one."""

    CHECKS = "min_checks"
    PASS_RATE = "min_pass_rate"
    SKIPS = "max_skip_share"
    REJECTS = "max_reject_share"
    UNDECIDABLE = "max_undecidable_share"
    INVALID = "max_invalid_share"
    UNPROVED = "max_unproved_share"
    TRIGGER = "min_trigger_rate"
    CHANGED = "min_changed"
    REGRESSION = "regression"
    COLLAPSE = "trigger_collapse"
    LOST = "lost_evidence"
    FINDING = "new_findings"
    ENTRY = "known_entries"
    NOTES = "notes"
    UNFINISHED = "unfinished"
    CAMPAIGN = "campaign"


Number = float | int | None


@dataclass(frozen=True, slots=True)
class Ruling:
    """One demand, applied.

    Attributes:
        status: What follows.
        requirement: What was required.
        subject: What it was required of: a pass, an oracle, a finding.
        detail: One line for people, without status and subject.
        numbers: Every number behind it.
        own: Whether the policy has a table for just this; others are shown only when they decide.
        finding: Id of the finding it is about, or empty.
        more: What else there is to say, each in a line of its own below.
    """

    status: RulingStatus
    requirement: Requirement
    subject: str
    detail: str
    numbers: Mapping[str, Number] = field(default_factory=dict)
    own: bool = True
    finding: str = ""
    more: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The ruling as one line, fit for a terminal: names of passes and messages may hold anything."""
        return printable(f"{self.status:<5} {self.subject}: {self.detail}").replace("\n", " ")

    @property
    def lines(self) -> list[str]:
        """The line, and what else there is to say below it."""
        return [self.line, *(" " * 6 + printable(each).replace("\n", " ") for each in self.more)]

    @property
    def told(self) -> str:
        """Everything without status and subject, where it must be one text."""
        return "; ".join((self.detail, *self.more))


def exit_of(rulings: Iterable[Ruling]) -> GateExit:
    """Combine all rulings to an exit code."""
    statuses = {ruling.status for ruling in rulings}
    if RulingStatus.FAIL in statuses:
        return GateExit.FAILED
    return GateExit.NO_EVIDENCE if RulingStatus.SHORT in statuses else GateExit.PASSED


def percent(rate: float | None) -> str:
    """``99.999%``, rounded down: 99.9999% is not 100%; ``unknown`` for ``None``."""
    if rate is None:
        return "unknown"
    # The millionth undoes binary fractions that lie just below their decimal.
    return f"{math.floor(rate * 1e5 + 1e-6) / 1e3:g}%"
