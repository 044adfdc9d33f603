"""In which release did a defect appear, in which was it fixed?  Judged from what its script says in each."""

from __future__ import annotations

import enum
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass

from fuzzer.plaintext import first_line
from fuzzer.repro import ReproResult


class Outcome(enum.Enum):
    """What a script says of one release."""

    PRESENT = "present"
    ABSENT = "absent"
    OTHERWISE = "fails otherwise"
    """It fails there in another way: neither the defect nor its absence."""
    UNSAYABLE = "cannot be said"
    """The module or a pass of the script does not exist there, or something that the check needs is missing."""

    @property
    def decides(self) -> bool:
        """Whether it says anything about the defect."""
        return self in (Outcome.PRESENT, Outcome.ABSENT)


class Trend(enum.Enum):
    """What became of the defect from the oldest release to the newest."""

    ALL = "present in all"
    NONE = "absent from all"
    APPEARED = "appeared"
    FIXED = "fixed"
    COMES_AND_GOES = "comes and goes"
    UNKNOWN = "cannot say"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a script says of one release, and the line that it says it in."""

    outcome: Outcome
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
class Judgement:
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
            between = f", or behind {self.after} before it" if self.after else ""
            return f"{self.trend.value} in {self.release}{between}"
        if self.silent and self.trend in (Trend.ALL, Trend.NONE):
            return f"{self.trend.value} that can say ({', '.join(self.telling)})"
        return str(self.trend.value)


@dataclass(frozen=True, slots=True)
class Bisected:
    """What is known of the releases of TVM.

    Attributes:
        judgement: In which it appeared or was fixed, in words.
        releases: Each with what its script said there.
    """

    judgement: str
    releases: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> str:
        """As text, for the store."""
        return json.dumps({"judgement": self.judgement, "releases": self.releases})

    @classmethod
    def from_json(cls, text: str) -> Bisected:
        """What :meth:`to_json` wrote."""
        raw = json.loads(text)
        return cls(raw["judgement"], tuple((release, said) for release, said in raw["releases"]))

    @classmethod
    def of(cls, observations: Sequence[Observation], judgement: Judgement) -> Bisected:
        """What a bisection came to."""
        said = tuple((item.release, f"{item.answer.outcome.value}: {item.answer.said}") for item in observations)
        return cls(str(judgement), said)


_MARKS = {"BUG": Outcome.PRESENT, "OK": Outcome.ABSENT, "DIFFERENT": Outcome.OTHERWISE,
          "ENVIRONMENT": Outcome.UNSAYABLE}  # fmt: skip
_CODES = {Outcome.PRESENT: 1, Outcome.UNSAYABLE: 2}


def answer_of(result: ReproResult) -> Answer:
    """What running a script says: its last line with a mark, when the exit code goes with it (``fuzzer.repro``)."""
    if result.exit_code is None:
        return Answer(Outcome.OTHERWISE, "the script does not end in time")
    if result.exit_code < 0:
        return Answer(Outcome.OTHERWISE, f"the script is killed by signal {-result.exit_code}")
    for line in reversed(result.output.splitlines()):
        mark, colon, said = line.partition(": ")
        outcome = _MARKS.get(mark)
        if colon and outcome is not None and result.exit_code == _CODES.get(outcome, 0):
            return Answer(outcome, first_line(said))
    last = first_line("\n".join(reversed(result.output.splitlines())), "nothing")
    return Answer(Outcome.OTHERWISE, f"the script ends with {result.exit_code}, saying: {last}")


def together(answers: Sequence[Answer]) -> Answer:
    """The answer of several runs in one release: a defect that showed once is present, else the last run speaks."""
    return next((item for item in answers if item.outcome is Outcome.PRESENT), answers[-1])


def judge(observations: Sequence[Observation]) -> Judgement:
    """Where the defect appeared or was fixed; the releases from the oldest to the newest."""
    silent = tuple(item.release for item in observations if not item.answer.outcome.decides)
    told = [(index, item) for index, item in enumerate(observations) if item.answer.outcome.decides]
    telling = tuple(item.release for _, item in told)
    if not told:
        return Judgement(Trend.UNKNOWN, silent=silent)
    changes = [
        (before, after)
        for before, after in itertools.pairwise(told)
        if before[1].answer.outcome is not after[1].answer.outcome
    ]
    if not changes:
        same = Trend.ALL if told[0][1].answer.outcome is Outcome.PRESENT else Trend.NONE
        return Judgement(same, telling=telling, silent=silent)
    if len(changes) > 1:
        return Judgement(Trend.COMES_AND_GOES, telling=telling, silent=silent)
    (before, old), (after, new) = changes[0]
    trend = Trend.APPEARED if new.answer.outcome is Outcome.PRESENT else Trend.FIXED
    return Judgement(trend, new.release, "" if after == before + 1 else old.release, telling, silent)
