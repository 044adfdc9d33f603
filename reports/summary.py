"""What ``run`` prints and writes at its end."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from reports.html import render_html
from reports.markdown import render_markdown
from reports.tables import load_report
from reports.text import render_text

MARKDOWN_NAME = "report.md"
HTML_NAME = "report.html"


def summarize(store_dir: Path | str, stream: TextIO) -> None:
    """Print the closing summary of the campaign in ``store_dir`` to ``stream`` and write its report files there.

    Raises what ``Store.open`` raises, and ``OSError`` when the files cannot be written (the summary is printed
    before that, so it is not lost).
    """
    directory = Path(store_dir)
    report = load_report(directory)
    stream.write(render_text(report))
    stream.flush()
    (directory / MARKDOWN_NAME).write_text(render_markdown(report), encoding="utf-8")
    (directory / HTML_NAME).write_text(render_html(report), encoding="utf-8")
    stream.write(f"\nreport: {directory / MARKDOWN_NAME} and {directory / HTML_NAME}\n")
    repros = sum(finding.repro is not None for finding in report.findings)
    if repros:
        first = next(finding.repro for finding in report.findings if finding.repro)
        stream.write(f"repro scripts: {repros}, for instance: python {directory / str(first)}\n")
    stream.flush()
