"""Findings as the page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fuzzer.decisions import Decisions
from fuzzer.plaintext import first_line
from fuzzer.repro_nearest import nearest_of
from fuzzer.store import FindingRecord
from reports.modules import passes_text
from reports.page.lines import Lines
from reports.scripts import script_text
from reports.standing import Standing, Standings
from reports.tables import Report

_LONGEST = 20_000
"""Characters of a message or a difference that are shown."""


def finding_rows(
    report: Report, modules: Mapping[str, str], standing: Standings, decisions: Decisions, lines: Lines
) -> list[dict[str, Any]]:
    """One object a finding, in the report's order.

    Args:
        report: The campaign.
        modules: Modules as text, by id.
        standing: What each means, under the policy if there is one.
        decisions: What people decided on families.
        lines: Takes the lines of modules and scripts.
    """
    return [_row(report, finding, modules, standing, decisions, lines) for finding in report.findings]


def _row(
    report: Report, finding: FindingRecord, modules: Mapping[str, str], standing: Standings, decisions: Decisions,
    lines: Lines,
) -> dict[str, Any]:  # fmt: skip
    module, script = modules.get(finding.id, ""), script_text(report.directory, finding.repro)
    stands = standing.of(finding)
    family = decisions.place(finding.id, finding.family)
    cost = report.costs.get(finding.id)
    return {
        "id": finding.id,
        "oracle": str(finding.oracle),
        "pass": finding.culprit,
        "kind": finding.kind,
        "state": finding.state.value,
        "stands": stands.value,
        "suspect": stands is Standing.SUSPECT,
        "excuse": "" if stands is Standing.FAILS else standing.excuses.get(finding.id, ""),
        "count": finding.count,
        "line": first_line(finding.message, finding.kind),
        "message": _cut(finding.message or finding.kind),
        "signature": finding.signature,
        "family": [family.id, family.text, "" if family.decision is None else family.decision.reason],
        "first": round(finding.first_seen_seconds, 1),
        "last": round(finding.last_seen_seconds, 1),
        "bindings": finding.bindings,
        "note": finding.note,
        "releases": "" if finding.bisected is None else finding.bisected.judgement,
        "expected": _cut(finding.evidence.expected),
        "observed": _cut(finding.evidence.observed),
        "frames": list(finding.frames),
        "passes": passes_text(finding),
        "minimized": finding.minimized is not None,
        "module": lines.add(module) if module else None,
        "neighbour": None if script is None else _neighbour(script),
        "repro": finding.repro,
        "script": None if script is None else lines.add(script),
        "cost": None if cost is None else [round(cost.judging, 1), round(cost.triage, 1)],
        "seen": [[at, count] for at, count in report.timeline.sightings.get(finding.id, ())],
    }


def _neighbour(script: str) -> list[str] | None:
    """What the nearest module that passes is, and the lines that differ, if the script has one."""
    if "NEAREST" not in script:
        return None
    try:
        nearest = nearest_of(script)
    except (SyntaxError, ValueError, IndexError):  # somebody has edited the script
        return None
    return None if nearest is None else [nearest.what, nearest.diff()]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n[{len(text) - _LONGEST} more characters]"
