"""A wrong legalization is caught by holding what operators compute against their documentation, and by nothing else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from planted.legalizations import LEGALIZATIONS, Flawed, registered

from oracles import Subject, judge
from oracles.core.verdict import NOT_AS_DOCUMENTED, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

from shared.operator_modules import ROW, draw_alone

LEGALIZE = PassRef("LegalizeOps", "relax.transform.LegalizeOps()")
BEFORE_AND_AFTER = PassRef("CanonicalizeBindings", "relax.transform.CanonicalizeBindings()")
CLEAN = 12

each = pytest.mark.parametrize("flawed", LEGALIZATIONS, ids=lambda flawed: flawed.id)


def failures(module: Any, ref: PassRef, seed: int, *oracles: OracleName) -> list[Verdict]:
    verdicts = judge(Subject(module, [ref], input_seed=seed), oracles or None)
    assert all(verdict.outcome is not Outcome.INVALID for verdict in verdicts), verdicts
    return [verdict for verdict in verdicts if verdict.outcome is Outcome.FAIL]


def accused(verdict: Verdict) -> str:
    assert verdict.evidence is not None
    assert verdict.evidence.kind == NOT_AS_DOCUMENTED, verdict
    return verdict.evidence.message.partition(":")[0]


@each
def test_is_caught_by_its_documentation_and_by_nothing_else(flawed: Flawed) -> None:
    with registered(flawed.operator, flawed.wrong):
        for seed in range(1, flawed.within + 1):
            alone = draw_alone(ROW[flawed.operator], seed)
            if alone is None:
                continue
            found = [v for v in failures(alone.module, LEGALIZE, seed) if accused(v) == flawed.operator]
            if found:
                assert {verdict.oracle for verdict in found} == {OracleName.NUMERIC}
                assert found[0].culprit == "LegalizeOps"
                assert not failures(alone.module, BEFORE_AND_AFTER, seed)
                print(f"{flawed.id} caught after {seed} modules", file=sys.stderr)
                return
    pytest.fail(f"not caught within {flawed.within} modules")


@each
def test_clean_twin_is_not_accused(flawed: Flawed) -> None:
    with registered(flawed.operator, flawed.right):
        for seed in range(1, CLEAN + 1):
            alone = draw_alone(ROW[flawed.operator], seed)
            if alone is not None:
                for verdict in failures(alone.module, LEGALIZE, seed, OracleName.NUMERIC):
                    assert accused(verdict) != flawed.operator, verdict
