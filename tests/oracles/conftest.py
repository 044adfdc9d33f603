"""Helpers shared by the tests of the oracles."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oracles.judge import judge
from oracles.passref import PassRef
from oracles.subject import Subject
from oracles.verdict import OracleName, Verdict

sys.path.append(str(Path(__file__).resolve().parent))  # for the sample modules, whatever import mode pytest uses

STRUCTURAL = frozenset(OracleName) - {OracleName.NUMERIC}
Say = Callable[..., dict[OracleName, Verdict]]


@pytest.fixture
def say() -> Say:
    """Verdicts of the structural oracles on a module under passes, by oracle."""

    def run(module: Any, *passes: PassRef, **options: Any) -> dict[OracleName, Verdict]:
        verdicts = judge(Subject(module, passes, **options), STRUCTURAL)
        return {verdict.oracle: verdict for verdict in verdicts}

    return run
