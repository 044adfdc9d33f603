"""Several campaigns side by side: trends of the oracles, when each finding was first and last seen, what got worse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fuzzer.core.text import Standing, by_standing
from fuzzer.gate.statistics import Table, significance_each
from reports.findings import title_line
from reports.tables import Report, oracle_rows, pass_rows

FALSE_ALARMS = 0.05
"""Chance that anything at all is said to have got worse although nothing did."""


def history(reports: Sequence[Report]) -> dict[str, Any] | None:
    """Return what the page shows of several campaigns, oldest first; ``None`` of one alone."""
    if len(reports) < 2:
        return None
    campaigns = []
    names = campaign_names(reports)
    oracles: dict[str, list[list[int] | None]] = {}
    findings: dict[str, dict[str, Any]] = {}
    for number, report in enumerate(reports):
        rows = {row.name: row for row in oracle_rows(report.tallies)}
        parts = by_standing(report.findings)
        campaigns.append(
            {
                "name": names[number],
                "started": report.info.started_at,
                "elapsed": report.info.elapsed_seconds,
                "tvm": report.info.tvm_version,
                "seed": report.info.seed,
                "cases": report.info.examples,
                **{f"{standing}s": len(part) for standing, part in parts.items()},
                "new": sum(finding.id not in findings for finding in parts[Standing.FINDING]),
            }
        )
        for name, row in rows.items():
            oracles.setdefault(name, [None] * len(reports))[number] = [row.passed, row.failed]
        for finding in report.findings:
            seen = findings.setdefault(finding.id, {"id": finding.id, "counts": [None] * len(reports)})
            seen["counts"][number] = finding.count  # 0: met only on the way to another, while that was minimized
            # The newest campaign that saw it says how far it has come.
            seen |= {
                "oracle": str(finding.oracle), "pass": finding.culprit, "state": finding.state.value,
                "standing": finding.standing.value, "line": title_line(finding),
            }  # fmt: skip
    return {
        "campaigns": campaigns,
        "oracles": [{"name": name, "counts": counts} for name, counts in oracles.items()],
        "findings": list(findings.values()),
        "worse": worse(reports[-2], reports[-1]),
    }


def campaign_names(reports: Sequence[Report]) -> list[str]:
    """Return their directories' last parts, or the whole where these do not tell them apart."""
    short = [report.directory.name or str(report.directory) for report in reports]
    return [
        name if short.count(name) == 1 else str(report.directory) for name, report in zip(short, reports, strict=True)
    ]


def worse(before: Report, after: Report) -> list[dict[str, Any]]:
    """Find pairs of oracle and pass that fail more often than before, more than chance explains; the clearest first.

    Fisher's exact test on failures among checks, each pair at a level that keeps the chance of any false alarm below
    ``FALSE_ALARMS``.
    """
    base, now = _cells(before), _cells(after)
    tables = {}
    for key, (passed, failed) in now.items():
        base_passed, base_failed = base.get(key, (0, 0))
        if passed + failed and base_passed + base_failed:
            tables[key] = Table(failed, passed + failed, base_failed, base_passed + base_failed)
    level = significance_each(list(tables.values()), FALSE_ALARMS)
    found = [(table.p_value(), key, table) for key, table in tables.items() if table.hits]
    return [
        {
            "oracle": oracle, "pass": culprit, "p": value,
            "before": [table.base_total - table.base_hits, table.base_hits], "after": list(now[oracle, culprit]),
        }
        for value, (oracle, culprit), table in sorted(found, key=lambda each: each[:2])
        if value <= level
    ]  # fmt: skip


def _cells(report: Report) -> dict[tuple[str, str], tuple[int, int]]:
    return {
        (oracle.name, row.name): (row.passed, row.failed)
        for oracle in oracle_rows(report.tallies)
        for row in pass_rows(report.tallies, oracle.name)
    }
