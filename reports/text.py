"""A campaign's report as plain text, readable at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from tabulate import tabulate

from fuzzer.core.text import SUSPECTS_ARE, columns, counted, first_line, printable, shorten, split_suspects
from fuzzer.store.known import in_words
from fuzzer.store.writer import FindingRecord, FindingState
from reports.findings import message_line
from reports.tables import (
    ORACLE_COLUMNS,
    Report,
    agreements_text,
    duration,
    oracle_rows,
    ordered,
    reason_rows,
    states_text,
)

WIDTH = 80
_REASONS = 8
_PASS_WIDTH = 22


def render_text(report: Report, most: int | None = None) -> str:
    """Write the closing summary of a campaign, suspects behind the findings.

    With ``most`` each part has so many, those that were seen most often, and says how to list the rest.
    """
    parts = [_head(report), _oracles(report), _reasons(report), _known(report), _findings(report, most)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(report: Report) -> str:
    info = report.info
    passes = "1 pass" if len(info.passes) == 1 else f"{len(info.passes)} passes"
    return (
        f"Campaign of seed {info.seed} on TVM {info.tvm_version}, {info.state}: {info.modules} modules,\n"
        f"{info.examples} cases of {passes} in {duration(info.elapsed_seconds)} with {counted(info.workers, 'worker')}"
    )


def _oracles(report: Report) -> str:
    rows = [row.cells for row in oracle_rows(report.tallies)]
    if not rows:
        return "No verdicts yet."
    columns_at = ("left", *["right"] * 6)
    table = tabulate(rows, ORACLE_COLUMNS, tablefmt="simple", colalign=columns_at, disable_numparse=True)
    return f"{table}\n{agreements_text(report.tallies)}".rstrip()


def _reasons(report: Report) -> str:
    rows = [
        (number, oracle, outcome, shorten(printable(reason), 45))
        for oracle, outcome, reason, number in reason_rows(report.tallies, _REASONS)
    ]
    if not rows:
        return ""
    table = tabulate(rows, ("count", "oracle", "outcome", "why"), tablefmt="simple", disable_numparse=True)
    return f"What judged nothing, most frequent first:\n{table}"


def _known(report: Report) -> str:
    known = report.known
    told = in_words(report.findings, report.recognized)
    return "\n".join(filter(None, [known.text if known.findings else "", told]))


def _findings(report: Report, most: int | None) -> str:
    if not report.findings:
        return "No findings."
    findings, suspects = split_suspects(report.findings)
    parts = [[*wrap(states_text(report.findings), WIDTH), *_listed(report, "finding", findings, most)]]
    if suspects:
        parts.append([f"Suspects: {SUSPECTS_ARE}", *_listed(report, "suspect", suspects, most)])
    return "\n\n".join("\n".join(part) for part in parts)


def _listed(report: Report, noun: str, findings: Sequence[FindingRecord], most: int | None) -> list[str]:
    """Write a table, each row with lines of its own below it; of many the ``most`` that were seen most often."""
    rest = 0 if most is None else max(0, len(findings) - most)
    if rest:
        findings = ordered(sorted(findings, key=lambda each: (each.state is FindingState.KNOWN, -each.count))[:most])
    if not findings:
        return []
    rows = [
        (
            finding.id, str(finding.oracle), shorten(printable(finding.culprit), _PASS_WIDTH), finding.count,
            "-" if finding.bindings is None else finding.bindings, finding.state.value,
        )
        for finding in findings
    ]  # fmt: skip
    head, rule, *lines = columns(("id", "oracle", "pass", "count", "bindings", "state"), rows)
    shown = [f"The {len(findings)} that were seen most often:"] if rest else []
    shown += [head, rule]
    # The message gets a line of its own: beside six columns there is no room for it at 80.
    for line, finding in zip(lines, findings, strict=True):
        shown.append(line)
        shown.append("  " + shorten(message_line(finding), WIDTH - 2))
        if finding.id in report.recognized:
            shown.append("  " + shorten(report.recognized[finding.id].line, WIDTH - 2))
        if finding.note:
            shown.append("  note: " + shorten(first_line(finding.note), WIDTH - 8))
        if finding.bisected is not None:
            shown.append("  releases: " + shorten(finding.bisected.judgement, WIDTH - 12))
        if finding.repro:
            shown.append(f"  repro: {finding.repro}")
    if rest:
        shown += ["", f"and {counted(rest, f'more {noun}')}: relaxfuzz findings {report.directory}"]
    return shown
