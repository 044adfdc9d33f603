from __future__ import annotations

import pytest

from fuzzer.deaths import Death, Died
from fuzzer.minimizer.judging import values_matter
from fuzzer.signatures import death_verdict
from oracles.verdict import Evidence, OracleName, Outcome, Verdict


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
    ("during", "expected"), [("numeric run original main", True), ("numeric build bytecode", False), ("crash", False)]
)
def test_values_matter_where_a_program_dies(during: str, expected: bool) -> None:
    died = death_verdict(Died(Death.SIGNAL, "signal 8 (SIGFPE)", f"{during}: P"), "case")
    assert values_matter(died) is expected
