"""A campaign's report as plain values, for programs: ``report --json`` and ``run --json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fuzzer.decisions import Decisions
from fuzzer.gate import GateResult
from fuzzer.gating.text import as_json
from fuzzer.grouping import group
from reports.page.history import history
from reports.tables import Report, oracle_rows, reason_rows


def report_object(
    reports: Sequence[Report], result: GateResult | None = None, decisions: Decisions | None = None
) -> dict[str, Any]:
    """The last of the campaigns, with the gate's word if there was a policy, and the history if there are several."""
    report = reports[-1]
    found: dict[str, Any] = {
        "directory": str(report.directory),
        "campaign": asdict(report.info),
        "oracles": [
            {
                "oracle": row.name, "pass": row.passed, "fail": row.failed, "pass_rate": row.rate, "skip": row.skipped,
                "reject": row.rejected, "invalid": row.invalid,
            }
            for row in oracle_rows(report.tallies)
        ],
        "not_judged": [
            {"oracle": row.oracle, "outcome": str(row.outcome), "reason": row.reason, "count": row.count}
            for row in reason_rows(report.tallies)
        ],
        "findings": [finding.to_object() for finding in report.findings],
        "families": [each.to_object() for each in group(report.findings, decisions or Decisions())],
        "seconds": [
            {"step": step, "pass": culprit or None, "seconds": round(seconds, 3)}
            for (step, culprit), seconds in sorted(report.timeline.spent.items())
        ],
        "known": report.known.to_object(),
        "gate": None if result is None else as_json(result),
    }  # fmt: skip
    return {**found, "history": history(reports)}
