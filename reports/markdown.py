"""A campaign's report as Markdown (GitHub's dialect)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fuzzer.core.text import WHAT_THEY_ARE, Standing, by_standing, shorten
from fuzzer.findings.signature import readable
from fuzzer.repro.markdown import escaped, unbroken
from fuzzer.repro.markdown import fenced as block
from fuzzer.store.known import KnownAs, in_words, state_of
from fuzzer.store.writer import FindingRecord
from reports.findings import blame_line, passes_text, title_line
from reports.tables import (
    ORACLE_COLUMNS,
    Report,
    agreements_text,
    duration,
    oracle_rows,
    reason_rows,
    severities_text,
    states_text,
)

_MOST_MESSAGE = 20_000
"""Characters of a message that is shown whole."""


def render_markdown(report: Report, module_of: Callable[[FindingRecord], str]) -> str:
    """Write the report; ``module_of`` gives a finding's module as text, or an empty text."""
    info = report.info
    campaign = (
        f"Seed {info.seed}, TVM {escaped(info.tvm_version)} (ffi {escaped(info.ffi_version)}): {info.modules} modules, "
        f"{info.examples} cases in {duration(info.elapsed_seconds)} with {info.workers} workers; {escaped(info.state)}."
    )
    lines = ["# Fuzzing report", "", campaign, "", *([f"{escaped(report.blind)}.", ""] if report.blind else [])]
    counts = (states_text(report.findings, report.recognized), severities_text(report.findings))
    told = filter(None, [*counts, in_words(report.findings, report.recognized)])
    for standing, findings in by_standing(report.findings).items():
        if standing is Standing.FINDING or findings:
            lines += [f"## {standing.value.capitalize()}s", ""]
            if standing is Standing.FINDING and findings:
                lines += [line for said in told for line in (f"{escaped(said)}.", "")]
            lines += [f"{said[0].upper()}{said[1:]}.", ""] if (said := WHAT_THEY_ARE.get(standing)) else []
            lines += _listed(report, findings, module_of)
    lines += ["## Oracles", "", *oracle_table(report), ""]
    if agreed := agreements_text(report.tallies):
        lines += [f"{agreed}.", ""]
    lines += [
        line for said in report.notes for line in (f"{escaped(said[0].upper() + said[1:]).removesuffix('.')}.", "")
    ]
    if reasons := reason_rows(report.tallies):
        columns = ("oracle", "outcome", "reason", "count")
        lines += ["## Not judged, by reason", "", *table(columns, reasons, "lllr"), ""]
    return "\n".join(lines)


def oracle_table(report: Report) -> list[str]:
    """Make the table of the oracles' verdicts."""
    return table(ORACLE_COLUMNS, (row.cells for row in oracle_rows(report.tallies)), "lrrrrrr")


def fenced(text: str, language: str = "") -> list[str]:
    """Make a code block whose fence is longer than any run of backticks inside."""
    return block(text, language).splitlines()


def _listed(report: Report, findings: Sequence[FindingRecord], module_of: Callable[[FindingRecord], str]) -> list[str]:
    """List findings in a table, and each in full."""
    if not findings:
        return ["None.", ""]
    lines = table(
        ("id", "severity", "oracle", "pass", "count", "bindings", "state", "message"),
        (
            (f.id, f.assessment.grade, str(f.oracle), f.culprit, f.count or "-",
             "-" if f.bindings is None else f.bindings, state_of(f, report.recognized.get(f.id)), title_line(f))
            for f in findings
        ),
        "llllrrll",
    )  # fmt: skip
    lines.append("")
    for finding in findings:
        lines += _finding(finding, module_of(finding), report.recognized.get(finding.id))
    return lines


def _finding(finding: FindingRecord, module: str, known: KnownAs | None) -> list[str]:
    assessment = finding.assessment
    head = f"{finding.id}: {escaped(finding.oracle)}, {escaped(finding.culprit)}, {assessment.grade}"
    lines = [f"### {head}", "", f"Evidence: {assessment.evidence.words}.", ""]
    if blame := blame_line(finding):
        lines += [f"{escaped(blame[0].upper() + blame[1:])}.", ""]
    if said := known.line if known is not None else finding.others:
        lines += [unbroken(escaped(said[:1].upper() + said[1:])), ""]
    lines += [f"Signature: {escaped(readable(finding.signature))}", ""]
    if finding.note:
        lines += [escaped(finding.note), ""]
    if finding.bisected is not None:
        lines += [f"Releases of TVM: {escaped(finding.bisected.judgement)}", ""]
    if finding.repro:
        lines += [f"Script that reproduces it: {escaped(finding.repro)}", ""]
    lines += [*fenced(passes_text(finding), "python"), ""]
    lines += [*fenced(shorten(readable(finding.message) or finding.kind, _MOST_MESSAGE), "text"), ""]
    if module:
        lines += [*fenced(module, "python"), ""]
    if finding.parts is not None and finding.failure.shown.details.numbers:
        lines += [escaped(finding.parts.words.observed), ""]
    if finding.parts is not None and finding.parts.change:
        lines += [*fenced(shorten(finding.parts.change, _MOST_MESSAGE), "diff"), ""]
    return lines


def table(headers: Sequence[str], rows: Iterable[Sequence[object]], align: str) -> list[str]:
    """Make a table; ``align`` has ``l`` or ``r`` for each column."""
    marks = {"l": "---", "r": "---:"}
    return [
        f"| {' | '.join(headers)} |",
        f"| {' | '.join(marks[letter] for letter in align)} |",
        *(f"| {' | '.join(escaped(value) for value in row)} |" for row in rows),
    ]
