from __future__ import annotations

from typing import Any

import pytest
import sample_modules as samples
from conftest import STRUCTURAL

from oracles import PassRef, Subject, judge, sequential
from oracles.verdict import OracleName, Outcome


def test_error_of_our_own_is_invalid_with_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(sequential, "unfit_step", broken)
    subject = Subject(samples.dataflow(), [PassRef("Normalize", "relax.transform.Normalize()")])
    verdicts = {verdict.oracle: verdict for verdict in judge(subject, STRUCTURAL)}
    assert verdicts[OracleName.SEQUENTIAL].outcome is Outcome.INVALID
    assert verdicts[OracleName.SEQUENTIAL].reason == "harness error: ZeroDivisionError"
    assert verdicts[OracleName.SEQUENTIAL].evidence is not None
    assert "Traceback" in verdicts[OracleName.SEQUENTIAL].evidence.observed
    assert verdicts[OracleName.CRASH].outcome is Outcome.PASS


def test_pass_that_cannot_be_built_is_invalid() -> None:
    subject = Subject(samples.dataflow(), [PassRef("Normalize", "relax.transform.Normalize(nonsense=1)")])
    assert {verdict.outcome for verdict in judge(subject, STRUCTURAL)} == {Outcome.INVALID}


def test_subject_needs_passes_and_a_contract_each() -> None:
    with pytest.raises(ValueError, match="at least one pass"):
        Subject(samples.dataflow(), [])
    with pytest.raises(ValueError, match="one contract per pass"):
        Subject(samples.dataflow(), [PassRef("Normalize", "relax.transform.Normalize()")], [])
