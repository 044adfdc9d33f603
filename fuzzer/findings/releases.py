"""The answers of several releases of TVM to one script."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass


class Presence(enum.Enum):
    """The answer of a script on one release."""

    PRESENT = "present"
    ABSENT = "absent"
    OTHERWISE = "fails differently"
    """It fails there in another way: neither the defect nor its absence."""
    UNSAYABLE = "undetermined"
    """The module or a pass of the script does not exist there, or something that the check needs is missing."""

    @property
    def decides(self) -> bool:
        """Say whether it tells anything about the defect."""
        return self in (Presence.PRESENT, Presence.ABSENT)


class Trend(enum.Enum):
    """The fate of the defect from the oldest release to the newest."""

    ALL = "present in all"
    NONE = "absent from all"
    APPEARED = "appeared"
    FIXED = "fixed"
    COMES_AND_GOES = "comes and goes"
    UNKNOWN = "undetermined"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a script on one release, and the line that it says it in."""

    outcome: Presence
    said: str


@dataclass(frozen=True, slots=True)
class Observation:
    """The answer in one release.

    Attributes:
        release: What the release is called: ``0.26.0``, or a build's version and path.
        answer: What the script says there.
    """

    release: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class BisectionJudgement:
    """Where a defect appeared or was fixed.

    Attributes:
        trend: What became of it.
        release: The first release of the new state, for ``APPEARED`` and ``FIXED``.
        after: The last release of the old state, where releases that say nothing lie between the two.
        telling: Releases that say something of the defect.
        silent: Releases that do not.
    """

    trend: Trend
    release: str = ""
    after: str = ""
    telling: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.trend in (Trend.APPEARED, Trend.FIXED):
            between = f" or earlier, but after {self.after}" if self.after else ""
            return f"{self.trend.value} in {self.release}{between}"
        if self.silent and self.trend in (Trend.ALL, Trend.NONE):
            return f"{self.trend.value} that could be judged ({', '.join(self.telling)})"
        return str(self.trend.value)


@dataclass(frozen=True, slots=True)
class Bisected:
    """The releases of TVM that a defect was looked for in.

    Attributes:
        judgement: In which it appeared or was fixed, in words.
        releases: Each with what its script said there.
    """

    judgement: str
    releases: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, observations: Sequence[Observation], judgement: BisectionJudgement) -> Bisected:
        """The result of a bisection."""
        said = tuple((item.release, f"{item.answer.outcome.value}: {item.answer.said}") for item in observations)
        return cls(str(judgement), said)


MARKS = {"BUG": Presence.PRESENT, "OK": Presence.ABSENT, "DIFFERENT": Presence.OTHERWISE,
         "ENVIRONMENT": Presence.UNSAYABLE}  # fmt: skip
