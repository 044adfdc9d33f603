"""What a maintainer reads first: what was expected, what was seen, for every oracle and kind of failure."""

from __future__ import annotations

import pytest
from deaths import death

from fuzzer.repro.table import words_of
from oracles.core.verdict import Details, Evidence, Notation, Outcome, Phase, Verdict
from relaxkit.passes.contract import OracleName


def failing(oracle: OracleName, culprit: str, evidence: Evidence) -> Verdict:
    return Verdict(oracle, Outcome.FAIL, culprit, evidence=evidence)


CASES = [
    (
        OracleName.CRASH,
        Evidence("KeyError", "'key is not in Map'", ("src/relax/a.cc:f",)),
        "KeyError: 'key is not in Map' (at src/relax/a.cc:f)",
    ),
    (
        OracleName.CRASH,
        death("signal 11", OracleName.IDEMPOTENCE),
        "the process died with signal 11 (SIGSEGV)",
    ),
    (
        OracleName.CRASH,
        death("signal 11", OracleName.CRASH),
        "the process died with signal 11 (SIGSEGV) while FuseOps was running",
    ),
    (
        OracleName.CRASH,
        death("exit 3"),
        "the process exits (exit 3)",
    ),
    (
        OracleName.CRASH,
        death("signal 11", OracleName.NUMERIC, Phase.BUILD_ORIGINAL),
        "the process died with signal 11 (SIGSEGV) while building the original program",
    ),
    (
        OracleName.CRASH,
        death("signal 11", OracleName.NUMERIC, Phase.RUN),
        "the process died with signal 11 (SIGSEGV) while running the compiled program",
    ),
    (OracleName.CRASH, death("hang"), "it does not end within"),
    (
        OracleName.WELL_FORMED,
        Evidence("ill-formed", "Function 0x5572526e1650 is annotated as pure\nmore of it"),
        "Function 0x... is annotated as pure more of it",
    ),
    (
        OracleName.NUMERIC,
        Evidence(
            "wrong-value", "results differ (bit-exact)", expected="main, output [1]: 1 at [0]", observed="-1 there"
        ),
        "-1 there",
    ),
    (
        OracleName.NUMERIC,
        Evidence("does-not-build", "InternalError: R.add: CodeGenVM cannot", observed="InternalError: it cannot"),
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
        "under testing.immutable_module, AssertionError",
    ),
    (
        OracleName.IDEMPOTENCE,
        Evidence(
            "not-equal", "another Function", expected="no change after 1 run", observed="first mismatch at x\nmore"
        ),
        "first mismatch at x",
    ),
    (
        OracleName.POSTCONDITION,
        Evidence(
            "not-done", "only casts come: an operator", expected="only casts come", observed="an operator\nadd: 2"
        ),
        "an operator; add: 2",
    ),
    (
        OracleName.MUTATION,
        Evidence("mutated", "the input module was modified", expected="the input module stays", observed="a constant"),
        "a constant",
    ),
]


@pytest.mark.parametrize(("oracle", "evidence", "observed"), CASES, ids=range(len(CASES)))
def test_a_failure_is_told(oracle: OracleName, evidence: Evidence, observed: str) -> None:
    words = words_of(failing(oracle, "FuseOps", evidence), "FuseOps fails")
    assert words.headline == "[Bug][Relax] FuseOps fails"
    assert words.observed.removeprefix("relax.analysis.well_formed raises: ").startswith(observed)


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("no function comes or goes", "no function is added or dropped"),
        ("no operator comes or goes but those of closures", "no operator is added or dropped but those of closures"),
        ("only casts come", "only casts are added"),
        ("inputs come from a callback", "inputs come from a callback"),
        ("operands come in the layout of the replacement", "operands come in the layout of the replacement"),
    ],
)
def test_a_claim_is_told_plainly(claim: str, said: str) -> None:
    evidence = Evidence("not-done", f"{claim}: relax.add", expected=claim)
    assert words_of(failing(OracleName.POSTCONDITION, "FuseOps", evidence), "It fails").expected == said


def test_the_frame_that_starts_every_pass_is_no_place() -> None:
    for frame, told in (("ir/transform.py:__call__", "ValueError: no"), ("a.py:f", "ValueError: no (at a.py:f)")):
        assert words_of(failing(OracleName.CRASH, "P", Evidence("ValueError", "no", (frame,))), "").observed == told


def test_the_printer_is_blamed_under_its_own_name() -> None:
    evidence = Evidence("not-parsed", "no attribute 'inspect'", details=Details(notation=Notation.TVMSCRIPT))
    verdict = failing(OracleName.ROUNDTRIP, "TVMScript", evidence)
    assert words_of(verdict, "It fails").headline == "[Bug][TVMScript] It fails"


def test_every_oracle_has_words_and_they_are_short() -> None:
    for oracle in OracleName:
        words = words_of(failing(oracle, "P" * 300, Evidence("not-equal", "m\n" * 400, expected="e" * 900)), "")
        assert all("\n" not in text and len(text) <= 500 for text in (words.expected, words.observed))


def test_what_passed_has_none() -> None:
    with pytest.raises(ValueError, match="only a failing verdict"):
        words_of(Verdict(OracleName.CRASH, Outcome.PASS, "FuseOps"), "")


def test_a_function_that_is_no_pass_transforms_no_module() -> None:
    evidence = Evidence("IndexError", "Index 0 out of bounds 0")
    for name, expected in (("rewrite_bindings", "rewrite_bindings returns"), ("FuseOps", "the pass returns")):
        assert words_of(failing(OracleName.CRASH, name, evidence), "").expected.startswith(expected)
