"""What a maintainer reads first: a title, what was expected, what was seen, for every oracle and kind of failure."""

from __future__ import annotations

import pytest
from deaths import death

from fuzzer.repro.checks.table import words_of
from oracles.core.verdict import Details, Evidence, Notation, Outcome, Phase, Verdict
from relaxkit.passes.contract import OracleName


def failing(oracle: OracleName, culprit: str, evidence: Evidence) -> Verdict:
    return Verdict(oracle, Outcome.FAIL, culprit, evidence=evidence)


CASES = [
    (
        OracleName.CRASH,
        Evidence("KeyError", "'key is not in Map'", ("src/relax/a.cc:f",)),
        "[Bug][Relax] FuseOps fails: KeyError: 'key is not in Map'",
        "KeyError: 'key is not in Map' (at src/relax/a.cc:f)",
    ),
    (
        OracleName.CRASH,
        death("signal 11", OracleName.IDEMPOTENCE),
        "[Bug][Relax] FuseOps crashes the process when run on its own output: signal 11 (SIGSEGV)",
        "the process dies of signal 11 (SIGSEGV)",
    ),
    (
        OracleName.CRASH,
        death("exit 3"),
        "[Bug][Relax] FuseOps crashes the process: exit 3",
        "the process ends itself by exit 3",
    ),
    (
        OracleName.CRASH,
        death("signal 11", OracleName.NUMERIC, Phase.BUILD_ORIGINAL),
        "[Bug][Relax] FuseOps crashes the process when a program is built or run (build original): signal 11 (SIGSEGV)",
        "the process dies of signal 11 (SIGSEGV)",
    ),
    (OracleName.CRASH, death("hang"), "[Bug][Relax] FuseOps does not end", "no end within"),
    (
        OracleName.WELL_FORMED,
        Evidence("ill-formed", "Function 0x5572526e1650 is annotated as pure\nmore of it"),
        "[Bug][Relax] FuseOps gives an ill-formed module: Function 0x... is annotated as pure more of it",
        "Function 0x... is annotated as pure more of it",
    ),
    (
        OracleName.NUMERIC,
        Evidence(
            "wrong-value", "results differ (bit-exact)", expected="main, output [1]: 1 at [0]", observed="-1 there"
        ),
        "[Bug][Relax] FuseOps changes the result of a program",
        "-1 there",
    ),
    (
        OracleName.NUMERIC,
        Evidence("does-not-build", "InternalError: R.add: CodeGenVM cannot", observed="InternalError: it cannot"),
        "[Bug][Relax] A module does not build after FuseOps: InternalError: R.add: CodeGenVM cannot",
        "InternalError: R.add: CodeGenVM cannot",
    ),
    (
        OracleName.ENVIRONMENT,
        Evidence(
            "AssertionError",
            "under testing.immutable_module: ",
            expected="a plain run: no error",
            details=Details(circumstance="under testing.immutable_module"),
        ),
        "[Bug][Relax] FuseOps raises AssertionError under testing.immutable_module",
        "under testing.immutable_module, AssertionError",
    ),
    (
        OracleName.IDEMPOTENCE,
        Evidence(
            "not-equal", "another Function", expected="no change after 1 run", observed="first mismatch at x\nmore"
        ),
        "[Bug][Relax] FuseOps changes its own output when run again",
        "another Function; first mismatch at x",
    ),
    (
        OracleName.POSTCONDITION,
        Evidence(
            "not-done", "only casts come: an operator", expected="only casts come", observed="an operator\nadd: 2"
        ),
        "[Bug][Relax] FuseOps: an operator",
        "an operator; add: 2",
    ),
    (
        OracleName.MUTATION,
        Evidence("mutated", "the input module was modified", expected="the input module stays", observed="a constant"),
        "[Bug][Relax] FuseOps modifies its input module",
        "a constant",
    ),
]


@pytest.mark.parametrize(("oracle", "evidence", "headline", "observed"), CASES, ids=range(len(CASES)))
def test_a_failure_is_told(oracle: OracleName, evidence: Evidence, headline: str, observed: str) -> None:
    words = words_of(failing(oracle, "FuseOps", evidence))
    assert words.headline == headline
    assert words.observed.removeprefix("relax.analysis.well_formed raises: ").startswith(observed)


def test_the_printer_is_blamed_under_its_own_name() -> None:
    evidence = Evidence("not-parsed", "no attribute 'inspect'", details=Details(notation=Notation.TVMSCRIPT))
    words = words_of(failing(OracleName.ROUNDTRIP, "TVMScript", evidence))
    assert words.headline == "[Bug][TVMScript] A module does not come back from TVMScript: no attribute 'inspect'"


def test_every_oracle_has_words_and_they_are_short() -> None:
    for oracle in OracleName:
        words = words_of(failing(oracle, "P" * 300, Evidence("not-equal", "m\n" * 400, expected="e" * 900)))
        assert words.title
        assert len(words.headline) < 160
        assert all("\n" not in text and len(text) <= 300 for text in (words.title, words.expected, words.observed))


def test_what_passed_has_none() -> None:
    with pytest.raises(ValueError, match="only a failing verdict"):
        words_of(Verdict(OracleName.CRASH, Outcome.PASS, "FuseOps"))
