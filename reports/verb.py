"""``relaxfuzz report``: a campaign's report in the terminal or as files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.cli.finding_filters import add_filters, chosen, nothing
from fuzzer.cli.options import add_triage, file_errors, inform, put_json
from fuzzer.core.verb import OK, READS_ONLY, UsageError, Verb
from relaxkit.files import append as add_to
from relaxkit.files import write_atomically

if TYPE_CHECKING:
    from fuzzer.findings.file import Decisions
    from fuzzer.gate.judge import GateResult
    from reports.tables import Report

_ONE_FILE = (".html", ".htm")
_FILES = {
    "junit": "write JUnit XML; - means standard output",
    "sarif": "write SARIF 2.1.0; - means standard output",
    "step-summary": 'append Markdown to a step summary file, such as "$GITHUB_STEP_SUMMARY"',
}
"""Options of files for continuous integration, and their help."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directories",
        type=Path,
        nargs="+",
        metavar="DIR",
        help="a campaign's directory; the campaign may still be running. If you name several, the one started last is "
        "reported, and the others are its history",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--markdown", metavar="FILE", help="write Markdown; - means standard output")
    parser.add_argument(
        "--html", metavar="PATH",
        help="write the HTML report: a directory with an index.html, or a single file if the name ends in .html; "
        "- means standard output",
    )  # fmt: skip
    for name, text in _FILES.items():
        parser.add_argument(f"--{name}", metavar="FILE", help=text)
    parser.add_argument("--annotations", action="store_true", help="print annotations for GitHub Actions (::error ...)")
    parser.add_argument(
        "--policy", type=Path, metavar="FILE",
        help="add the gate's verdict under this policy, and use the policy's list of known findings",
    )  # fmt: skip
    parser.add_argument("--baseline", type=Path, metavar="FILE", help="with --policy: compare with this baseline")
    add_triage(parser)
    add_filters(parser, " in the terminal and Markdown reports")


def _run(options: argparse.Namespace) -> int:
    from fuzzer.findings.file import load_decisions
    from fuzzer.gate.judge import judged
    from reports.summary import report_object
    from reports.tables import comparable, load_reports
    from reports.text import render_text

    reports, others = comparable(load_reports(options.directories))
    for other in others:
        inform(f"'{other.directory}' tested different passes and is not compared")
    decisions = load_decisions(options.triage)
    if options.baseline is not None and options.policy is None:
        raise UsageError("--baseline needs --policy, because only the gate uses a baseline")
    report = reports[-1]
    result = None
    if options.policy is not None:
        earlier = [each.directory for each in reports[:-1]]
        result = judged(report.directory, options.policy, options.baseline, options.triage, earlier)
    written = _write_for_ci(options, report, result)
    shown = replace(report, findings=chosen(report.findings, options, report.recognized, report.info.passes))
    written |= _write_pages(options, reports, shown, result, decisions, [str(each.directory) for each in others])
    if options.json:
        return put_json(report_object(reports, result, decisions))
    if not written:
        none = nothing(report.findings, options, report.recognized, report.info.passes)
        sys.stdout.write(render_text(shown, stream=sys.stdout, nothing=none, all_findings=report.findings))
    return OK


def _write_for_ci(options: argparse.Namespace, report: Report, result: GateResult | None) -> bool:
    """Write what continuous integration asked for; return whether anything was."""
    from reports.annotations import render_annotations
    from reports.junit import render_junit
    from reports.sarif import render_sarif
    from reports.step_summary import render_step_summary

    written = False
    for target, render in (
        (options.junit, render_junit),
        (options.sarif, render_sarif),
        (options.step_summary, render_step_summary),
        ("-" if options.annotations else None, render_annotations),
    ):
        if target is not None:
            _put(target, render(report, result), append=render is render_step_summary)
            written = True
    return written


def _write_pages(
    options: argparse.Namespace,
    reports: Sequence[Report],
    shown: Report,
    result: GateResult | None,
    decisions: Decisions,
    others: Sequence[str],
) -> bool:
    """Write what shows modules, Markdown of the findings that were chosen; return whether anything was asked for."""
    from reports.html import render_html, write_page
    from reports.markdown import render_markdown
    from reports.page.data import page_object
    from reports.page.tvm_worker import TvmWorker

    if options.markdown is None and options.html is None:
        return False
    with TvmWorker(shown.findings) as worker:
        if options.markdown is not None:
            _put(options.markdown, render_markdown(shown, worker.module))
        if options.html is not None:
            page = page_object(reports, worker, result, decisions, others)
            if options.html == "-" or options.html.endswith(_ONE_FILE):
                _put(options.html, render_html(page))
            else:
                directory = Path(options.html)
                with file_errors("write", directory):
                    index = write_page(page, directory)
                inform(f"open {index}")
    return True


def _put(target: str, text: str, append: bool = False) -> None:
    """Write to a file, or to the standard output for ``-``; raises ``UsageError``."""
    if target == "-":
        sys.stdout.write(text)
        return
    with file_errors("write", target):
        (add_to if append else write_atomically)(Path(target), text)


VERB = Verb(
    name="report",
    help="show a campaign's report, or write it as HTML, Markdown, JUnit XML, SARIF or a step summary",
    example="relaxfuzz report campaign --html page --junit junit.xml",
    add_arguments=_add_arguments,
    run=_run,
    code=READS_ONLY,
)
