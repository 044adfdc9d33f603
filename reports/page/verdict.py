"""The gate's word on a campaign, as the page shows it."""

from __future__ import annotations

from typing import Any

from fuzzer.gate import GateExit, GateResult
from fuzzer.gating.ruling import Demand, Word
from fuzzer.gating.text import explain, verdict_line

_DECIDES = {GateExit.FAILED: Word.FAIL, GateExit.NO_EVIDENCE: Word.SHORT}
_MOST = 12
"""Rulings of a kind that are listed; every one is among those explained."""


def verdict_object(result: GateResult) -> dict[str, Any]:
    """The verdict, what decided it, findings that did, what else is noted, and every number behind it."""
    word = _DECIDES.get(result.exit)
    decided = [] if word is None else result.of(word)
    rules = [f"{ruling.subject}: {ruling.told}" for ruling in decided if ruling.demand is not Demand.FINDING]
    notes = [f"{ruling.subject}: {ruling.told}" for ruling in result.of(Word.NOTE)]
    return {
        "word": result.exit.name.lower().replace("_", " "),
        "decided": _cut(rules),
        "findings": sum(ruling.demand is Demand.FINDING for ruling in decided),
        "notes": _cut(notes),
        "told": verdict_line(result),
        "explained": explain(result),
    }


def _cut(lines: list[str]) -> list[str]:
    return lines if len(lines) <= _MOST else [*lines[:_MOST], f"and {len(lines) - _MOST} more"]
