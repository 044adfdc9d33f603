"""A campaign's report as text: as wide as the terminal and coloured, plain and of 80 columns elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Any, TextIO

from rich.console import RenderableType

from fuzzer.cli.verbs.findings import listed_findings, next_steps
from fuzzer.core.terminal import MOST_ROWS, prose, rendered, table
from fuzzer.core.text import WHAT_THEY_ARE, Standing, by_standing, counted, headline, quoted_path, shell
from fuzzer.store.known import in_words
from fuzzer.store.writer import FindingRecord
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

_REASONS = 8


def render_text(
    report: Report, most: int | None = None, stream: TextIO | None = None, nothing: str = "no findings",
    all_findings: Sequence[FindingRecord] = (),
) -> str:  # fmt: skip
    """Write the closing summary of a campaign, questions and suspects behind the findings, as ``stream`` shows it.

    With ``most`` each part has so many, the gravest, and says how to list the rest.  ``nothing`` says why there is
    none.  ``all_findings`` are those of the campaign, where the report has only some of them.
    """
    found = _findings(report, most, nothing, all_findings or report.findings)
    sections = [_head(report), _oracles(report), _reasons(report), _known(report), *found]
    parts = [part for section in sections if section for part in ("", *section)]
    return rendered(*parts[1:], stream=stream or StringIO())


def _head(report: Report) -> list[RenderableType]:
    info = report.info
    passes = "1 pass" if len(info.passes) == 1 else f"{len(info.passes)} passes"
    return [
        prose(
            f"Campaign with seed {info.seed} on TVM {info.tvm_version}, {info.state}: {info.modules} modules,\n"
            f"{info.examples} cases for {passes} in {duration(info.elapsed_seconds)} with "
            f"{counted(info.workers, 'worker')} (limit: {info.budget_text}; triage takes extra time)"
        )
    ]


def _oracles(report: Report) -> list[RenderableType]:
    rows = [row.cells for row in oracle_rows(report.tallies)]
    if not rows:
        return ["No verdicts yet."]
    told = [agreements_text(report.tallies), *report.notes]
    return [table(ORACLE_COLUMNS, rows), *map(prose, filter(None, told))]


def _reasons(report: Report) -> list[RenderableType]:
    rows = [(number, oracle, outcome, why) for oracle, outcome, why, number in reason_rows(report.tallies)]
    rest = counted(len(rows) - _REASONS, "more reason")
    more = f"and {rest}: {shell('relaxfuzz')} report {quoted_path(report.directory)} --markdown -"
    shown = table(("count", "oracle", "outcome", "reason"), rows[:_REASONS])
    told = [shown, more] if len(rows) > _REASONS else [shown]
    return ["Not judged, by reason (most frequent first, omitted cases last):", *told] if rows else []


def _known(report: Report) -> list[RenderableType]:
    known = report.known
    told = in_words(report.findings, report.recognized)
    return [prose(line) for line in (known.text if known.findings else "", told) if line]


def _findings(report: Report, most: int | None, nothing: str, whole: Sequence[FindingRecord]) -> Iterator[list[Any]]:
    if not report.findings:
        yield [*map(prose, filter(None, (f"{nothing[0].upper()}{nothing[1:]}.", report.blind)))]
        return
    for standing, findings in by_standing(report.findings).items():
        if standing is Standing.FINDING:
            part = f"Selected from {headline(whole)}" if len(report.findings) < len(whole) else ""
            counts = states_text(report.findings, report.recognized), severities_text(report.findings)
            heads = [*filter(None, (report.blind, part, *counts))]
        elif findings:
            heads = [f"{standing.value.capitalize()}s: {WHAT_THEY_ARE[standing]}"]
        else:
            continue
        steps = next_steps(whole, report.recognized, report.directory) if standing is Standing.FINDING else []
        yield [*map(prose, heads), *_listed(report, standing.value, findings, most), *([""] if steps else []), *steps]


def _listed(report: Report, noun: str, findings: Sequence[FindingRecord], most: int | None) -> list[RenderableType]:
    """Write a table, each row with lines of its own below it; of many the ``most`` that are gravest."""
    most = MOST_ROWS if most is None else most
    rest = max(0, len(findings) - most)
    findings = findings[:most]
    if not findings:
        return []
    shown = listed_findings(findings, report.recognized, report.directory)
    if rest:
        more = f"and {counted(rest, f'more {noun}')}: {shell('relaxfuzz')} findings {quoted_path(report.directory)}"
        return [f"The {len(findings)} most severe:", *shown, "", more]
    return ["Most severe first:", *shown] if noun == Standing.FINDING.value else shown
