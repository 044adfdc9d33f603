"""Passes by oracles: how often each passed, and the evidence behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fuzzer.gating.proportions import wilson
from fuzzer.pass_verdicts import by_pass
from fuzzer.store import Tally
from oracles.verdict import OracleName, Outcome

_OUTCOMES = tuple(outcome.value for outcome in Outcome)


def matrix(tallies: Sequence[Tally]) -> dict[str, Any]:
    """Oracles, passes by name, reasons, and for each pass a cell an oracle, or ``None`` where nothing was said.

    A cell holds the counts of ``Outcome`` in order (``n``), the ends of the 95 % interval of the pass rate (``ci``) and
    the reasons of what judged nothing (``why``: outcome, number of the reason, count).
    """
    judged = by_pass(tallies)
    oracles = [str(name) for name in OracleName if any(str(name) in row for row in judged.values())]
    reasons: dict[str, int] = {}
    rows = []
    for name in sorted(judged, key=str.lower):
        cells: list[dict[str, Any] | None] = []
        for oracle in oracles:
            said = judged[name].get(oracle)
            if said is None:
                cells.append(None)
                continue
            interval = wilson(said.outcomes[Outcome.PASS.value], said.verdicts)
            cells.append(
                {
                    "n": [said.outcomes[outcome] for outcome in _OUTCOMES],
                    "ci": [round(interval.low, 6), round(interval.high, 6)] if said.verdicts else None,
                    "why": [
                        [outcome, reasons.setdefault(reason, len(reasons)), count]
                        for (outcome, reason), count in said.reasons.most_common()
                    ],
                }
            )
        rows.append({"name": name, "cells": cells})
    return {"oracles": oracles, "rows": rows, "reasons": list(reasons)}
