"""A campaign's report as plain values, for programs, and what ``run`` prints and writes at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from fuzzer.core.text import printable, quoted_path, shell, to_json
from fuzzer.findings.file import Decisions, load_decisions
from fuzzer.gate.judge import GateResult
from fuzzer.gate.text import as_json as gate_object
from fuzzer.store.grouping import group
from relaxkit.files import write_atomically
from reports.html import render_html
from reports.markdown import render_markdown
from reports.page.data import page_object
from reports.page.history import history
from reports.page.tvm_worker import TvmWorker
from reports.tables import ORACLE_COLUMNS, Report, agreements, load_report, oracle_rows, reason_rows
from reports.text import render_text

MARKDOWN_NAME = "report.md"
HTML_NAME = "report.html"
MOST = 20
"""Findings that the terminal shows; a night gives hundreds, and the files have them all."""


def report_object(
    reports: Sequence[Report], result: GateResult | None = None, decisions: Decisions | None = None
) -> dict[str, Any]:
    """Return the last of the campaigns, the gate's result if there was a policy, and the history of several."""
    report = reports[-1]
    found: dict[str, Any] = {
        "directory": str(report.directory),
        "campaign": asdict(report.info),
        "oracles": [
            {name.replace(" ", "_"): value for name, value in zip(ORACLE_COLUMNS, row.values, strict=True)}
            for row in oracle_rows(report.tallies)
        ],
        "agreements": {str(way): count for way, count in agreements(report.tallies).items()},
        "not_judged": [
            {"oracle": oracle, "outcome": outcome, "reason": reason, "count": count}
            for oracle, outcome, reason, count in reason_rows(report.tallies)
        ],
        "findings": [
            {**finding.to_object(), "known": known and known.to_object()}
            for finding in report.findings
            for known in [report.recognized.get(finding.id)]
        ],
        "families": [each.to_object() for each in group(report.findings, decisions or Decisions())],
        "seconds": [
            {"step": step, "pass": culprit or None, "seconds": round(seconds, 3)}
            for (step, culprit), seconds in sorted(report.timeline.spent.items())
        ],
        "known": report.known.to_object(),
        "gate": None if result is None else gate_object(result),
    }  # fmt: skip
    return {**found, "history": history(reports)}


def summarize(store_dir: Path | str, stream: TextIO, as_json: bool = False) -> None:
    """Print the closing summary of the campaign in ``store_dir`` to ``stream`` and write its report files there.

    Args:
        store_dir: The campaign's directory.
        stream: Where the summary goes.
        as_json: One JSON object instead of text.

    Raises what ``Store.open`` raises, and ``OSError`` when the files cannot be written (the summary is printed
    before that, so it is not lost).
    """
    directory = Path(store_dir)
    report, decisions = load_report(directory), load_decisions(None)
    told = render_text(report, MOST, stream)
    stream.write(f"{to_json(report_object([report], None, decisions), indent=2)}\n" if as_json else told)
    stream.flush()
    with TvmWorker(report.findings) as worker:
        markdown = render_markdown(report, worker.module)
        page = render_html(page_object([report], worker, None, decisions))
    write_atomically(directory / MARKDOWN_NAME, markdown)
    write_atomically(directory / HTML_NAME, page)
    if as_json:
        return
    stream.write(printable(f"report: {directory / MARKDOWN_NAME} and {directory / HTML_NAME}").join("\n\n"))
    if repros := sum(finding.repro is not None for finding in report.findings):
        first = next(finding.repro for finding in report.findings if finding.repro)
        stream.write(f"repro scripts: {repros}, for example: {shell('python')} {quoted_path(directory / str(first))}\n")
    stream.flush()
