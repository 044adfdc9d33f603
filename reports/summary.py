"""What ``run`` prints and writes at its end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TextIO

from reports.html import render_html
from reports.markdown import render_markdown
from reports.objects import report_object
from reports.page.data import page_object
from reports.page.tvm_side import TvmSide
from reports.tables import load_report
from reports.text import render_text

MARKDOWN_NAME = "report.md"
HTML_NAME = "report.html"
MOST = 20
"""Findings that the terminal shows; a night gives hundreds, and the files have them all."""


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
    report = load_report(directory)
    stream.write(json.dumps(report_object([report]), indent=2) + "\n" if as_json else render_text(report, MOST))
    stream.flush()
    with TvmSide() as tvm_side:
        markdown = render_markdown(report, tvm_side.module)
        page = render_html(page_object([report], tvm_side))
    (directory / MARKDOWN_NAME).write_text(markdown, encoding="utf-8")
    (directory / HTML_NAME).write_text(page, encoding="utf-8")
    if as_json:
        return
    stream.write(f"\nreport: {directory / MARKDOWN_NAME} and {directory / HTML_NAME}\n")
    repros = sum(finding.repro is not None for finding in report.findings)
    if repros:
        first = next(finding.repro for finding in report.findings if finding.repro)
        stream.write(f"repro scripts: {repros}, for instance: python {directory / str(first)}\n")
    stream.flush()
