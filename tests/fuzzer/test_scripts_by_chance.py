"""Scripts that fail by what happens to be in memory are no evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fuzzer.core.case import Case
from fuzzer.findings.assessment import Assessment, Culprit, EvidenceClass, Severity
from fuzzer.findings.script_parts import Ending, RenderedScript, ScriptParts, ShortForms, ShortScript, Words
from fuzzer.minimizer.judge.judge import Judge
from fuzzer.triage.script import LONG, SHORT, _checked, write_checked
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName


@pytest.mark.parametrize(
    ("kind", "blame", "confirmed"),
    [
        ("uninitialized-read", "LegalizeOps", False),
        ("wrong-value", str(Culprit.REDUCTIONS), False),
        ("wrong-value", "LegalizeOps", True),
    ],
)
def test_what_may_fail_by_chance_is_run_several_times(kind: str, blame: str, confirmed: bool, tmp_path: Path) -> None:
    script, ending = by_chance(tmp_path), Ending("AssertionError", ("by chance",), 5)
    evidence = Evidence(kind, "", (), "", "")
    verdict = Verdict(OracleName.NUMERIC, Outcome.FAIL, "LegalizeOps", evidence=evidence)
    assessment = Assessment(EvidenceClass.HARD, Severity.S1, blame, final=True)
    assert _checked(script, ending, tmp_path, verdict, assessment).confirmed is confirmed


def by_chance(folder: Path, fails: str = "assert n == 3, 'by chance'") -> str:
    """A script that fails, but not the fourth time."""
    (folder / "runs").write_text("")
    return f"""import sys
with open({str(folder / "runs")!r}, "r+") as f:
    n = len(f.read())
    f.write("x")
{fails}
"""


@pytest.mark.parametrize("short", [False, True])
def test_neither_form_counts_if_it_fails_by_chance(
    short: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "print('BUG: by chance') or sys.exit(1)"
    text = by_chance(tmp_path, said if short else f"{said} if n != 3 else print('OK: nothing')")
    long = RenderedScript(text, ScriptParts("", False, Words("title", "a", "b")))
    (tmp_path / "short").mkdir()
    form = ShortScript(by_chance(tmp_path / "short"), Ending("AssertionError", ("by chance",), 5))
    answers = {LONG: long, SHORT: ShortForms((form,))}
    monkeypatch.setattr("fuzzer.triage.script.nearest_passing", lambda *_: None)
    monkeypatch.setattr("fuzzer.triage.script.Judge", lambda *_: judge)
    monkeypatch.setattr(Judge, "ask", lambda _, what, *__: answers[what])
    worker: Any = None
    judge = Judge(worker, ())
    evidence = Evidence("uninitialized-read", "", (), "", "")
    verdict = Verdict(OracleName.NUMERIC, Outcome.FAIL, "LegalizeOps", evidence=evidence)
    written = tmp_path / "written" / "repro.py"
    result, _, why = write_checked(judge, Case("{}", (), 0), verdict, None, "", written, 0.0, tmp_path)
    assert result.confirmed is short
    assert written.read_text() == text
    assert why == ("the one that was tried exited with 0, and did not show the failure" if short else "")
