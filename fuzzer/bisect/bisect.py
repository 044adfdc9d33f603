"""In which release did a defect appear, in which was it fixed?  Judged from what its script says in each."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzzer.bisect.environments import Build
from fuzzer.core.text import first_line
from fuzzer.findings.releases import MARKS, Answer, BisectionJudgement, Observation, Presence, Trend
from fuzzer.repro.run import ReproResult, check_repro

_CODES = {Presence.PRESENT: 1, Presence.UNSAYABLE: 2}


def answer_of(result: ReproResult) -> Answer:
    """Read the answer of a script: its last line with a mark, when the exit code agrees (``fuzzer.repro.run``)."""
    if result.exit_code is None:
        return Answer(Presence.OTHERWISE, "the script timed out")
    if result.exit_code < 0:
        return Answer(Presence.OTHERWISE, f"the script was killed by signal {-result.exit_code}")
    for line in reversed(result.output.splitlines()):
        mark, colon, text = line.partition(": ")
        outcome = MARKS.get(mark)
        if colon and outcome is not None and result.exit_code == _CODES.get(outcome, 0):
            return Answer(outcome, first_line(text))
    last = first_line("\n".join(reversed(result.output.splitlines())), "nothing")
    return Answer(Presence.OTHERWISE, f"the script exited with {result.exit_code} and printed: {last}")


def together(answers: Sequence[Answer]) -> Answer:
    """Return the answer of several runs in one release: a defect that showed once is present; else the last answer."""
    return next((item for item in answers if item.outcome is Presence.PRESENT), answers[-1])


def judge(observations: Sequence[Observation]) -> BisectionJudgement:
    """Say where the defect appeared or was fixed; the releases from the oldest to the newest."""
    silent = tuple(item.release for item in observations if not item.answer.outcome.decides)
    deciding = [(index, item) for index, item in enumerate(observations) if item.answer.outcome.decides]
    telling = tuple(item.release for _, item in deciding)
    if not deciding:
        return BisectionJudgement(Trend.UNKNOWN, silent=silent)
    changes = [
        (before, after)
        for before, after in itertools.pairwise(deciding)
        if before[1].answer.outcome is not after[1].answer.outcome
    ]
    if not changes:
        same = Trend.ALL if deciding[0][1].answer.outcome is Presence.PRESENT else Trend.NONE
        return BisectionJudgement(same, telling=telling, silent=silent)
    if len(changes) > 1:
        return BisectionJudgement(Trend.COMES_AND_GOES, telling=telling, silent=silent)
    (before, old), (after, new) = changes[0]
    trend = Trend.APPEARED if new.answer.outcome is Presence.PRESENT else Trend.FIXED
    return BisectionJudgement(trend, new.release, "" if after == before + 1 else old.release, telling, silent)


@dataclass(frozen=True, slots=True)
class ReleaseRun:
    """One release: its build, what the script says there, how long it took."""

    build: Build
    answer: Answer
    seconds: float


def run_in_releases(script: str, builds: list[Build], runs: int, seconds: float) -> Iterator[ReleaseRun]:
    """Run the script in the releases one after the other, in a directory of its own."""
    for build in builds:
        started = time.monotonic()
        answers: list[Answer] = []
        while len(answers) < runs and all(answer.outcome is not Presence.PRESENT for answer in answers):
            with tempfile.TemporaryDirectory(prefix="relaxfuzz-") as scratch:
                path = Path(scratch) / "repro.py"
                path.write_text(script, encoding="utf-8")
                answers.append(
                    answer_of(check_repro(path, seconds, python=build.python, environment=build.environment))
                )
        yield ReleaseRun(build, together(answers), time.monotonic() - started)
