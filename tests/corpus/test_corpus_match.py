"""Findings against the cases of the corpus, as functions and from the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from test_corpus_add import FUSE, campaign

from corpus import load
from corpus.campaign import FoundFailure
from corpus.matching import match
from fuzzer.cli import main

SEEN = "InternalError: Do not have a default for relax.expr.If"
FAILURE = FoundFailure("abc0000001", "crash", "MergeCompositeFunctions", "confirmed", 3, SEEN)
VERSION = "0.27.0.post1"


def test_oracle_pass_and_pattern_must_agree() -> None:
    cases = load(["merge-composite-if", "merge-composite-match-cast", "fuse-ops-branch"])
    (found,) = match([FAILURE], cases, VERSION)
    assert [case.slug for case in found.cases] == ["merge-composite-if"]
    for other in (replace(FAILURE, oracle="numeric"), replace(FAILURE, culprit="FuseOps"), replace(FAILURE, seen="x")):
        (found,) = match([other], cases, VERSION)
        assert found.cases == found.possible == ()


def test_a_case_without_a_pattern_only_may_be_it() -> None:
    (case,) = load(["merge-composite-if"])
    silent = replace(case, expected={key: replace(value, pattern="") for key, value in case.expected.items()})
    (found,) = match([replace(FAILURE, seen="anything")], [silent], VERSION)
    assert (found.cases, found.possible) == ((), (silent,))


def test_an_unknown_release_is_compared_with_one_that_fails() -> None:
    (found,) = match([FAILURE], load(["merge-composite-if"]), "9.9.9")
    assert len(found.cases) == 1


def test_a_frame_may_hold_the_pattern() -> None:
    (case,) = load(["merge-composite-if"])
    framed = replace(case, expected={VERSION: replace(case.expected[VERSION], pattern="merge.cc:Visit")})
    (found,) = match([replace(FAILURE, seen="InternalError: x\nmerge.cc:Visit")], [framed], VERSION)
    assert found.cases == (framed,)


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = campaign(tmp_path, "merge-composite-if", FUSE, "crash")  # its message is "m"
    assert main(["corpus", "match", str(directory)]) == 0
    assert "1 findings, 0 look like a case of the corpus" in capsys.readouterr().out
    assert main(["corpus", "match", str(directory), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["id"], row["pass"], row["cases"]) == ("abc0000001", "MergeCompositeFunctions", [])


def test_no_campaign_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["corpus", "match", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"relaxfuzz: error: '{tmp_path}' holds no campaign (no campaign.sqlite)\n"
