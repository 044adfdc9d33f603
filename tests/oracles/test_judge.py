from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sample_modules as samples
from structural import STRUCTURAL

from oracles import PassRef, Subject, judge
from oracles.core.verdict import CUT_SHORT, Outcome
from relaxkit.passes.contract import OracleName


def test_error_of_our_own_is_invalid_with_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(Subject, "grouped", broken)
    subject = Subject(samples.dataflow(), [PassRef("Normalize", "relax.transform.Normalize()")])
    verdicts = {verdict.oracle: verdict for verdict in judge(subject, STRUCTURAL)}
    assert verdicts[OracleName.SEQUENTIAL].outcome is Outcome.INVALID
    assert verdicts[OracleName.SEQUENTIAL].reason == "harness error: ZeroDivisionError: ours"
    assert verdicts[OracleName.SEQUENTIAL].evidence is not None
    assert "Traceback" in verdicts[OracleName.SEQUENTIAL].evidence.observed
    assert verdicts[OracleName.CRASH].outcome is Outcome.PASS


def test_pass_that_cannot_be_built_is_invalid() -> None:
    subject = Subject(samples.dataflow(), [PassRef("Normalize", "relax.transform.Normalize(nonsense=1)")])
    assert {verdict.outcome for verdict in judge(subject, STRUCTURAL)} == {Outcome.INVALID}


def test_the_reason_says_in_a_line_why_a_pass_cannot_be_built(tmp_path: Path) -> None:
    file = tmp_path / "p.py"
    file.write_text("def make():\n    raise ValueError('no \\x1b[31m\\ncompiler \\udcff' + 'x' * 10_000)\n")
    (verdict,) = judge(Subject(samples.dataflow(), [PassRef("make", f"user:{file}:make")]), [OracleName.CRASH])
    assert verdict.outcome is Outcome.INVALID
    start = f"the pass cannot be built: '{file}:make' raised ValueError: no ?[31m compiler ?xxx"
    assert verdict.reason.startswith(start)
    assert len(verdict.reason) == 200
    assert verdict.reason.endswith("x...")


def test_subject_needs_passes_and_a_contract_each() -> None:
    with pytest.raises(ValueError, match="at least one pass"):
        Subject(samples.dataflow(), [])
    with pytest.raises(ValueError, match="one contract per pass"):
        Subject(samples.dataflow(), [PassRef("Normalize", "relax.transform.Normalize()")], [])


def test_after_a_failure_that_is_enough_nothing_more_is_judged() -> None:
    ref = PassRef("InlinePrivateFunctions", "relax.transform.InlinePrivateFunctions()")
    subject = Subject(samples.symbolic_callee(), [ref])
    said = {
        each.oracle: each for each in judge(subject, STRUCTURAL, lambda each: each.oracle is OracleName.WELL_FORMED)
    }
    assert said[OracleName.WELL_FORMED].outcome is Outcome.FAIL
    assert said[OracleName.CRASH].outcome is Outcome.PASS, "what came before stays"
    later = [each for name, each in said.items() if name not in (OracleName.CRASH, OracleName.MUTATION)]
    skipped = [each for each in later if each.oracle is not OracleName.WELL_FORMED]
    assert skipped
    assert {(each.outcome, each.reason) for each in skipped} == {(Outcome.SKIP, CUT_SHORT)}
    full = {each.oracle: each for each in judge(Subject(samples.symbolic_callee(), [ref]), STRUCTURAL, lambda _: False)}
    assert full.keys() == said.keys()
    assert CUT_SHORT not in {each.reason for each in full.values()}
