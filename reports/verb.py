"""``relaxfuzz report``: a campaign's report in the terminal or as files."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.verb import OK, UsageError, Verb
from fuzzer.verb_options import add_triage

if TYPE_CHECKING:
    from fuzzer.decisions import Decisions
    from fuzzer.gate import GateResult
    from reports.tables import Report

_ONE_FILE = (".html", ".htm")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from reports import ci

    parser.add_argument(
        "directories",
        type=Path,
        nargs="+",
        metavar="DIR",
        help="a campaign's directory; it may still be running. Of several the one that was started last is reported, "
        "and the others are its history",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--markdown", metavar="FILE", help="write Markdown; - is the standard output")
    parser.add_argument(
        "--html",
        metavar="PATH",
        help="write the page: as a directory with an index.html, or as one file where the name ends in .html; - is the "
        "standard output",
    )
    ci.add_arguments(parser)
    parser.add_argument("--policy", type=Path, metavar="FILE", help="a gate's policy: its verdict, and what is known")
    parser.add_argument("--baseline", type=Path, metavar="FILE", help="with --policy: compare with this baseline")
    add_triage(parser)


def _run(options: argparse.Namespace) -> int:
    from fuzzer.decisions import load_decisions
    from fuzzer.gating.files import judged
    from fuzzer.store import StoreError
    from fuzzer.tomlfile import TomlError
    from reports import ci
    from reports.objects import report_object
    from reports.tables import load_reports
    from reports.text import render_text

    try:
        reports = load_reports(options.directories)
        decisions = load_decisions(options.triage)
    except (StoreError, TomlError) as error:
        raise UsageError(str(error)) from error
    if options.baseline is not None and options.policy is None:
        raise UsageError("--baseline goes with --policy: a baseline is for the gate")
    report = reports[-1]
    result = None
    if options.policy is not None:
        earlier = [each.directory for each in reports[:-1]]
        result = judged(report.directory, options.policy, options.baseline, options.triage, earlier)
    written = ci.write(options, report, result)
    written |= _write_pages(options, reports, result, decisions)
    if options.json:
        print(json.dumps(report_object(reports, result, decisions), indent=2))
    elif not written:
        sys.stdout.write(render_text(report))
    return OK


def _write_pages(
    options: argparse.Namespace, reports: Sequence[Report], result: GateResult | None, decisions: Decisions
) -> bool:
    """Write what shows modules; gives whether anything was asked for."""
    from reports import ci
    from reports.html import render_html
    from reports.markdown import render_markdown
    from reports.page.data import page_object
    from reports.page.tvm_side import TvmSide

    if options.markdown is None and options.html is None:
        return False
    with TvmSide() as tvm_side:
        if options.markdown is not None:
            ci.put(options.markdown, render_markdown(reports[-1], tvm_side.module))
        if options.html is not None:
            page = page_object(reports, tvm_side, result, decisions)
            if options.html == "-" or options.html.endswith(_ONE_FILE):
                ci.put(options.html, render_html(page))
            else:
                _directory(page, Path(options.html))
    return True


def _directory(page: dict[str, object], directory: Path) -> None:
    from reports.html import write_page

    try:
        index = write_page(page, directory)
    except OSError as error:
        raise UsageError(f"cannot write '{directory}': {error.strerror}") from error
    print(f"relaxfuzz: open {index}", file=sys.stderr)


VERB = Verb(
    name="report",
    help="a campaign's report: in the terminal, as a page, or as Markdown, JUnit XML, SARIF, a step's summary",
    example="relaxfuzz report campaign --html page --junit junit.xml",
    add_arguments=_add_arguments,
    run=_run,
)
