"""The corpus at the start of a campaign."""

from __future__ import annotations

import pytest

from corpus.case import load
from corpus.check import CheckResult, tvm_version
from corpus.regression import _outcome, regress
from oracles.core.verdict import Outcome, Verdict
from relaxkit.passes.contract import OracleName

EVERY = tuple(name.value for name in OracleName)


def test_the_cases_of_the_passes_under_test_are_judged() -> None:
    said = list(regress(["ComputePrimValue", "AdjustMatmulOrder"], ["crash", "well-formed"]))
    assert said
    for each in said:
        (case,) = load([each["id"]])
        assert str(case.oracle) in ("crash", "well-formed")
        assert {ref.name for ref in case.passes} <= {"ComputePrimValue", "AdjustMatmulOrder"}
        assert each["state"] in ("fails", "holds"), each
    assert list(regress(["Nothing"], EVERY)) == []


@pytest.mark.parametrize(
    ("expected", "seen", "ok", "state"),
    [
        ("fail", Outcome.FAIL, True, "fails"),
        ("fail", Outcome.FAIL, False, "changed"),
        ("fail", Outcome.PASS, False, "fixed"),
        ("fail", Outcome.SKIP, False, "undecided"),
        ("pass", Outcome.PASS, True, "holds"),
        ("pass", Outcome.FAIL, False, "regressed"),
        ("pass", Outcome.INVALID, False, "undecided"),
    ],
)
def test_what_is_outcome_of_a_case(expected: str, seen: Outcome, ok: bool, state: str) -> None:
    version = tvm_version()
    case = next(each for each in load() if each.expected.get(version) == expected)
    verdict = Verdict(case.oracle, seen, case.blamed, "why")
    result = CheckResult(case, "case", case.expectation_for(version), verdict, False, "" if ok else "otherwise")
    said = _outcome(result, version)
    assert said["state"] == state
    assert bool(said["note"]) is (state not in ("fails", "holds"))
