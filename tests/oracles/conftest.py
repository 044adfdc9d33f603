"""Helpers shared by the tests of the oracles."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from oracles.core.subject import Subject
from oracles.core.verdict import Verdict
from oracles.judge import judge
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

sys.path.append(str(Path(__file__).resolve().parent))  # for the sample modules, whatever import mode pytest uses
sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))  # for what tests share with benchmarks

from structural import STRUCTURAL, Say


@pytest.fixture
def say() -> Say:
    """Verdicts of the structural oracles on a module under passes, by oracle."""

    def run(module: Any, *passes: PassRef, **options: Any) -> dict[OracleName, Verdict]:
        verdicts = judge(Subject(module, passes, **options), STRUCTURAL)
        return {verdict.oracle: verdict for verdict in verdicts}

    return run
