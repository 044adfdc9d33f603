"""Scripts that fail by what happens to be in memory are no evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzer.findings.assessment import Assessment, Culprit, EvidenceClass, Severity
from fuzzer.findings.script_parts import Ending
from fuzzer.triage.script import _checked
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
    (tmp_path / "runs").write_text("")
    script = f"import sys\nwith open({str(tmp_path / 'runs')!r}, 'r+') as f:\n    n = len(f.read())\n    f.write('x')\n"
    script += "assert n == 3, 'by chance'\n"  # the fourth run shows nothing
    ending = Ending("AssertionError", ("by chance",), 5)
    evidence = Evidence(kind, "", (), "", "")
    verdict = Verdict(OracleName.NUMERIC, Outcome.FAIL, "LegalizeOps", evidence=evidence)
    assessment = Assessment(EvidenceClass.HARD, Severity.S1, blame, final=True)
    assert _checked(script, ending, tmp_path, verdict, assessment).confirmed is confirmed
