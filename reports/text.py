"""A campaign's report as plain text, readable at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from tabulate import tabulate

from fuzzer.core.text import WHAT_THEY_ARE, Standing, by_standing, columns, counted, first_line, printable, shorten
from fuzzer.store.known import in_words
from fuzzer.store.writer import FindingRecord
from reports.findings import blame_line, title_line
from reports.tables import (
    ORACLE_COLUMNS,
    Report,
    agreements_text,
    duration,
    oracle_rows,
    ordered,
    reason_rows,
    severities_text,
    states_text,
)

WIDTH = 80
_REASONS = 8
_PASS_WIDTH = 17


def render_text(report: Report, most: int | None = None) -> str:
    """Write the closing summary of a campaign, questions and suspects behind the findings.

    With ``most`` each part has so many, the gravest, and says how to list the rest.
    """
    parts = [_head(report), _oracles(report), _reasons(report), _known(report), _findings(report, most)]
    return printable("\n\n".join(part for part in parts if part) + "\n")


def _head(report: Report) -> str:
    info = report.info
    passes = "1 pass" if len(info.passes) == 1 else f"{len(info.passes)} passes"
    return (
        f"Campaign with seed {info.seed} on TVM {info.tvm_version}, {info.state}: {info.modules} modules,\n"
        f"{info.examples} cases for {passes} in {duration(info.elapsed_seconds)} with {counted(info.workers, 'worker')}"
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
    return f"Skipped checks by reason, most frequent first:\n{table}"


def _known(report: Report) -> str:
    known = report.known
    told = in_words(report.findings, report.recognized)
    return "\n".join(filter(None, [known.text if known.findings else "", told]))


def _findings(report: Report, most: int | None) -> str:
    if not report.findings:
        return "No findings."
    parts = []
    for standing, findings in by_standing(report.findings).items():
        if standing is Standing.FINDING:
            heads = [states_text(report.findings), *filter(None, [severities_text(report.findings)])]
        elif findings:
            heads = [f"{standing.value.capitalize()}s: {WHAT_THEY_ARE[standing]}"]
        else:
            continue
        lines = [line for head in heads for line in wrap(head, WIDTH)]
        parts.append([*lines, *_listed(report, standing.value, findings, most)])
    return "\n\n".join("\n".join(part) for part in parts)


def _listed(report: Report, noun: str, findings: Sequence[FindingRecord], most: int | None) -> list[str]:
    """Write a table, each row with lines of its own below it; of many the ``most`` that are gravest."""
    rest = 0 if most is None else max(0, len(findings) - most)
    findings = ordered(findings)[:most] if rest else findings
    if not findings:
        return []
    rows = [
        (
            finding.id, finding.assessment.severity, str(finding.oracle),
            shorten(printable(finding.culprit), _PASS_WIDTH), finding.count,
            "-" if finding.bindings is None else finding.bindings, finding.state.value,
        )
        for finding in findings
    ]  # fmt: skip
    head, rule, *lines = columns(("id", "sev", "oracle", "pass", "count", "bindings", "state"), rows)
    shown = [f"Look at these {len(findings)} first:"] if rest else []
    shown += [head, rule]
    # The message gets a line of its own: beside six columns there is no room for it at 80.
    for line, finding in zip(lines, findings, strict=True):
        shown.append(line)
        shown.append("  " + shorten(title_line(finding), WIDTH - 2))
        if finding.id in report.recognized:
            shown.append("  " + shorten(report.recognized[finding.id].line, WIDTH - 2))
        if blame := blame_line(finding):
            shown.append("  " + shorten(blame, WIDTH - 2))
        if finding.note:
            shown.append("  note: " + shorten(first_line(finding.note), WIDTH - 8))
        if finding.bisected is not None:
            shown.append("  releases: " + shorten(first_line(finding.bisected.judgement), WIDTH - 12))
        if finding.repro:
            shown.append(f"  repro: {finding.repro}")
    if rest:
        shown += ["", f"and {counted(rest, f'more {noun}')}: relaxfuzz findings {report.directory}"]
    return shown
