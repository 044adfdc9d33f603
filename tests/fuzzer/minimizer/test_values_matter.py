from __future__ import annotations

import pytest

from fuzzer.findings.signature import death_verdict
from fuzzer.minimizer.judge.judge import values_matter
from fuzzer.worker.death import Died
from oracles.core.verdict import Breadcrumb, Details, Evidence, Outcome, Phase, Verdict
from relaxkit.passes.contract import OracleName


@pytest.mark.parametrize(
    ("oracle", "kind", "expected"),
    [
        (OracleName.NUMERIC, "wrong-value", True),
        (OracleName.NUMERIC, "run-error", True),
        (OracleName.NUMERIC, "does-not-build", False),
        (OracleName.CRASH, "InternalError", False),
    ],
)
def test_values_matter_where_a_program_has_run(oracle: OracleName, kind: str, expected: bool) -> None:
    assert values_matter(Verdict(oracle, Outcome.FAIL, "P", evidence=Evidence(kind, ""))) is expected


@pytest.mark.parametrize(
    ("stage", "expected"), [(Phase.RUN_ORIGINAL, True), (Phase.RUN, True), (Phase.BUILD, False), (None, False)]
)
def test_values_matter_where_a_program_dies(stage: Phase | None, expected: bool) -> None:
    crumb = Breadcrumb.of(Details(OracleName.NUMERIC if stage else OracleName.CRASH, stage), "P")
    died = death_verdict(Died.by_exit_code(-8, crumb.text), "case")
    assert values_matter(died) is expected
