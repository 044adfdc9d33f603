"""Everything that the page shows, as one object of plain values."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from fuzzer.core.text import WHAT_THEY_ARE, Standing, shell
from fuzzer.findings.file import Decisions
from fuzzer.gate.judge import GateExit, GateResult
from fuzzer.gate.ruling import Requirement, RulingStatus
from fuzzer.gate.text import explain, verdict_line
from fuzzer.shard.shard import DRAW, OTHER, PREPARE, TRIAGE
from fuzzer.store.timeline import Point
from reports.findings import Dispositions
from reports.page.findings import LineTable, finding_rows
from reports.page.history import history
from reports.page.passes import matrix
from reports.page.tvm_worker import TvmWorker
from reports.tables import Report, oracle_rows, states_text

_STEPS = {
    DRAW: "drawing modules",
    PREPARE: "passes that must run first",
    TRIAGE: "confirming and minimizing findings",
    OTHER: "dead processes, hangs, process starts, data transfer",
    "crash": "the pass itself, for the crash oracle",
}
"""What a step is called where its name does not say it."""
IDLE = "idle"
_MOST = 12
"""Rulings of a kind that are listed; every one is among those explained."""


def page_object(
    reports: Sequence[Report],
    worker: TvmWorker,
    result: GateResult | None = None,
    decisions: Decisions | None = None,
    others: Sequence[str] = (),
) -> dict[str, Any]:
    """Return what the page shows.

    Args:
        reports: Campaigns, oldest first (``reports.tables.load_reports``); the last one is shown, the others are its
            history.
        worker: Prints modules.
        result: The gate's, if a policy was given.
        decisions: What people decided on families of findings.
        others: Names of campaigns that tested other passes and are not compared.
    """
    report = reports[-1]
    info = report.info
    lines = LineTable()
    return {
        "title": states_text(report.findings, report.recognized),
        "parts": [[standing.value, WHAT_THEY_ARE.get(standing, "")] for standing in Standing],
        "campaign": {
            "name": report.directory.name or str(report.directory), "directory": str(report.directory),
            "programs": [shell("python"), shell("relaxfuzz")],
            "seed": info.seed, "tvm": info.tvm_version,
            "ffi": info.ffi_version, "started": info.started_at, "elapsed": info.elapsed_seconds, "state": info.state,
            "workers": info.workers, "budget": info.budget_text, "examples": info.examples, "modules": info.modules,
            "passes": len(info.passes), "not_compared": list(others),
            "blind": report.blind,
        },
        "verdict": None if result is None else _verdict(result),
        "oracles": [
            {"name": row.name, "n": list(row.counts.values())}
            for row in oracle_rows(report.tallies)
        ],
        "matrix": matrix(report.tallies),
        "findings": finding_rows(
            report, worker.modules(report.findings), Dispositions.under(result), decisions or Decisions(), lines
        ),
        "coverage": worker.coverage(report.coverage, info.modules),
        "growth": {each.name: [*map(attrgetter(each.name), report.timeline.growth)] for each in fields(Point)}
        | {"blocks": _blocks(report)},
        "known": report.known.to_object(),
        "spent": _spent(report),
        "history": history(reports),
        "lines": lines.table,
    }  # fmt: skip


def _blocks(report: Report) -> list[int]:
    """Return blocks of the compiler that were reached so far, at each moment of the growth; empty where none was."""
    cases, counts = [each for each, _ in report.blocks], [0, *(each for _, each in report.blocks)]
    return [counts[bisect_right(cases, point.examples)] for point in report.timeline.growth] if cases else []


def _verdict(result: GateResult) -> dict[str, Any]:
    """Return the verdict, what decided it, findings that did, what else is noted, and every number behind it."""
    decided = result.lacking if result.exit is GateExit.NO_EVIDENCE else result.of(RulingStatus.FAIL)
    rules = [f"{ruling.subject}: {ruling.told}" for ruling in decided if ruling.requirement is not Requirement.FINDING]
    notes = [f"{ruling.subject}: {ruling.told}" for ruling in result.of(RulingStatus.NOTE)]
    return {
        "word": result.exit.name.lower().replace("_", " "),
        "decided": _cut(rules),
        "findings": sum(ruling.requirement is Requirement.FINDING for ruling in decided),
        "notes": _cut(notes),
        "told": verdict_line(result),
        "explained": explain(result),
    }


def _cut(lines: list[str]) -> list[str]:
    return lines if len(lines) <= _MOST else [*lines[:_MOST], f"and {len(lines) - _MOST} more"]


def _spent(report: Report) -> dict[str, list[list[Any]]]:
    """Sum up seconds of all workers by step and by pass, the most first; last what nobody used."""
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
