"""Everything that the page shows, as one object of plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from fuzzer.counting import SUSPECTS_ARE
from fuzzer.decisions import Decisions
from fuzzer.gate import GateResult
from fuzzer.stopwatch import DRAW, OTHER, PREPARE, TRIAGE
from fuzzer.timeline import Point, Timeline
from reports.page.findings import finding_rows
from reports.page.history import history
from reports.page.lines import Lines
from reports.page.matrix import matrix
from reports.page.tvm_side import TvmSide
from reports.page.verdict import verdict_object
from reports.standing import standings
from reports.tables import Report, oracle_rows, states_text

_STEPS = {
    DRAW: "drawing modules",
    PREPARE: "passes that must run first",
    TRIAGE: "confirming and minimizing findings",
    OTHER: "deaths, hangs, new processes, transfer",
    "crash": "the pass itself, for the crash oracle",
}
"""What a step is called where its name does not say it."""
IDLE = "idle"


def page_object(
    reports: Sequence[Report],
    tvm_side: TvmSide,
    result: GateResult | None = None,
    decisions: Decisions | None = None,
) -> dict[str, Any]:
    """What the page shows.

    Args:
        reports: Campaigns, oldest first (``reports.tables.load_reports``); the last one is shown, the others are its
            history.
        tvm_side: Prints modules.
        result: The gate's, if a policy was given.
        decisions: What people decided on families of findings.
    """
    report = reports[-1]
    info = report.info
    lines = Lines()
    return {
        "title": states_text(report.findings),
        "suspects_are": SUSPECTS_ARE,
        "campaign": {
            "name": report.directory.name or str(report.directory), "seed": info.seed, "tvm": info.tvm_version,
            "ffi": info.ffi_version, "started": info.started_at, "elapsed": info.elapsed_seconds, "state": info.state,
            "workers": info.workers, "budget": info.budget_text, "examples": info.examples, "modules": info.modules,
            "passes": len(info.passes),
        },
        "verdict": None if result is None else verdict_object(result),
        "oracles": [
            {"name": row.name, "n": [row.passed, row.failed, row.skipped, row.rejected, row.invalid]}
            for row in oracle_rows(report.tallies)
        ],
        "matrix": matrix(report.tallies),
        "findings": finding_rows(
            report, tvm_side.modules(report.findings), standings(result), decisions or Decisions(), lines
        ),
        "coverage": tvm_side.coverage(report.coverage, info.modules),
        "growth": _growth(report.timeline),
        "known": report.known.to_object(),
        "spent": _spent(report),
        "history": history(reports),
        "lines": lines.table,
    }  # fmt: skip


def _growth(timeline: Timeline) -> dict[str, list[float]]:
    return {each.name: [getattr(point, each.name) for point in timeline.growth] for each in fields(Point)}


def _spent(report: Report) -> dict[str, list[list[Any]]]:
    """Seconds of all workers by step and by pass, the most first; last what nobody used."""
    steps: dict[str, float] = {}
    passes: dict[str, float] = {}
    for (step, culprit), seconds in report.timeline.spent.items():
        steps[step] = steps.get(step, 0.0) + seconds
        if culprit:
            passes[culprit] = passes.get(culprit, 0.0) + seconds
    idle = report.info.elapsed_seconds * report.info.workers - math.fsum(steps.values())
    rows = _falling(steps)
    if rows and idle > 0:
        rows.append((IDLE, idle))
    return {
        "steps": [[step, round(seconds, 2), _STEPS.get(step, "")] for step, seconds in rows],
        "passes": [[name, round(seconds, 2)] for name, seconds in _falling(passes)],
    }


def _falling(seconds: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(seconds.items(), key=lambda each: (-each[1], each[0]))
