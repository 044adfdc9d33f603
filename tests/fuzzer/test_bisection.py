"""Where a defect appeared or was fixed, from what its script said in each release."""

from __future__ import annotations

import itertools

import pytest

from fuzzer.bisect.bisect import answer_of, judge, together
from fuzzer.findings.releases import Answer, Observation, Presence, Trend
from fuzzer.repro.run import ReproResult

RELEASES = ("0.25.0", "0.26.0", "0.27.0", "0.28.0")
LETTERS = {"P": Presence.PRESENT, "A": Presence.ABSENT, "D": Presence.OTHERWISE, "?": Presence.UNSAYABLE}


def seen(letters: str) -> list[Observation]:
    return [
        Observation(release, Answer(LETTERS[letter], "")) for release, letter in zip(RELEASES, letters, strict=False)
    ]


@pytest.mark.parametrize(
    ("letters", "text"),
    [
        ("PPP", "present in all"),
        ("P", "present in all"),
        ("AAA", "absent from all"),
        ("APP", "appeared in 0.26.0"),
        ("AAP", "appeared in 0.27.0"),
        ("PPA", "fixed in 0.27.0"),
        ("PAAA", "fixed in 0.26.0"),
        ("APA", "comes and goes"),
        ("PAP", "comes and goes"),
        ("P?A", "fixed in 0.27.0 or earlier, but after 0.25.0"),
        ("ADDP", "appeared in 0.28.0 or earlier, but after 0.25.0"),
        ("?PA", "fixed in 0.27.0"),
        ("?AP?", "appeared in 0.27.0"),
        ("?PP", "present in all that could be judged (0.26.0, 0.27.0)"),
        ("?AD", "absent from all that could be judged (0.26.0)"),
        ("P?A?", "fixed in 0.27.0 or earlier, but after 0.25.0"),
        ("??D", "undetermined"),
        ("", "undetermined"),
    ],
)
def test_judgements(letters: str, text: str) -> None:
    assert str(judge(seen(letters))) == text


def test_every_sequence_is_judged_by_what_is_decided_alone() -> None:
    for letters in itertools.product("PAD?", repeat=4):
        found = judge(seen("".join(letters)))
        decided = [letter for letter in letters if letter in "PA"]
        runs = [letter for letter, _ in itertools.groupby(decided)]
        expected = {
            (): Trend.UNKNOWN, ("P",): Trend.ALL, ("A",): Trend.NONE, ("A", "P"): Trend.APPEARED,
            ("P", "A"): Trend.FIXED,
        }.get(tuple(runs), Trend.COMES_AND_GOES)  # fmt: skip
        assert found.trend is expected, letters
        assert len(found.silent) == sum(letter in "D?" for letter in letters)
        assert len(found.telling) == len(decided)
        if found.release:
            new = letters[RELEASES.index(found.release)]
            assert new == runs[1]
            assert runs[1] not in letters[: RELEASES.index(found.release)]
        if found.after:
            between = letters[RELEASES.index(found.after) + 1 : RELEASES.index(found.release)]
            assert between
            assert set(between) <= {"D", "?"}


@pytest.mark.parametrize(
    ("code", "output", "outcome", "said"),
    [
        (1, "noise\nBUG: it is ill-formed\nexpected: well\n", Presence.PRESENT, "it is ill-formed"),
        (0, "OK: no error\n", Presence.ABSENT, "no error"),
        (0, "DIFFERENT: ValueError: x: y\n", Presence.OTHERWISE, "ValueError: x: y"),
        (2, "ENVIRONMENT: ImportError: No module\n", Presence.UNSAYABLE, "ImportError: No module"),
        (1, "OK: the exit code belongs to something else\n", Presence.OTHERWISE,
         "the script exited with 1 and printed: OK: the exit code belongs to something else"),
        (0, "BUG: said by a pass\nOK: no error\n", Presence.ABSENT, "no error"),
        (1, "Traceback\nNameError: x\n", Presence.OTHERWISE, "the script exited with 1 and printed: NameError: x"),
        (0, "", Presence.OTHERWISE, "the script exited with 0 and printed: nothing"),
        (-11, "BUG: too late\n", Presence.OTHERWISE, "the script was killed by signal 11"),
        (None, "", Presence.OTHERWISE, "the script timed out"),
    ],
)  # fmt: skip
def test_answers(code: int | None, output: str, outcome: Presence, said: str) -> None:
    assert answer_of(ReproResult(code, output)) == Answer(outcome, said)


def test_one_run_that_shows_it_is_enough() -> None:
    gone, there, other = Answer(Presence.ABSENT, "no"), Answer(Presence.PRESENT, "yes"), Answer(Presence.OTHERWISE, "x")
    assert together([gone, there, gone]) is there
    assert together([other, gone]) is gone
