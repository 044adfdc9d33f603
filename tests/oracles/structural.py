"""The structural oracles, and what tells their verdicts."""

from __future__ import annotations

from collections.abc import Callable

from oracles.core.verdict import Verdict
from relaxkit.passes.contract import OracleName

STRUCTURAL = frozenset(OracleName) - {OracleName.NUMERIC}
Say = Callable[..., dict[OracleName, Verdict]]
"""Gives the verdicts of the structural oracles on a module under passes, by oracle: the fixture ``say``."""
