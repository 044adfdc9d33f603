"""``relaxfuzz report``: a campaign's report in the terminal or as a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fuzzer.verb import OK, UsageError, Verb


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="the campaign's directory; it may still be running")
    parser.add_argument("--markdown", metavar="FILE", help="write Markdown; - is the standard output")
    parser.add_argument("--html", metavar="FILE", help="write one HTML page; - is the standard output")
    parser.add_argument("--junit", metavar="FILE", help="write JUnit XML; - is the standard output")


def _run(options: argparse.Namespace) -> int:
    from fuzzer.store import StoreError
    from reports.html import render_html
    from reports.junit import render_junit
    from reports.markdown import render_markdown
    from reports.tables import load_report
    from reports.text import render_text

    try:
        report = load_report(options.directory)
    except StoreError as error:
        raise UsageError(str(error)) from error
    wanted = [
        (options.markdown, render_markdown),
        (options.html, render_html),
        (options.junit, render_junit),
    ]
    chosen = [(target, render) for target, render in wanted if target is not None]
    if not chosen:
        sys.stdout.write(render_text(report))
    for target, render in chosen:
        _write(target, render(report))
    return OK


def _write(target: str, text: str) -> None:
    if target == "-":
        sys.stdout.write(text)
        return
    try:
        Path(target).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write '{target}': {error.strerror}") from error


VERB = Verb(
    name="report",
    help="a campaign's report: in the terminal, or as Markdown, HTML or JUnit XML",
    example="relaxfuzz report campaign --html report.html --junit junit.xml",
    add_arguments=_add_arguments,
    run=_run,
)
