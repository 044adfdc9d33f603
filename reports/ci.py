"""What ``relaxfuzz report`` writes for systems of continuous integration."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from fuzzer.gate import GateResult
from fuzzer.verb import UsageError
from reports.annotations import render_annotations
from reports.junit import render_junit
from reports.sarif import render_sarif
from reports.step_summary import render_step_summary
from reports.tables import Report

_Render = Callable[[Report, "GateResult | None"], str]
_FILES: tuple[tuple[str, _Render, str], ...] = (
    ("junit", render_junit, "write JUnit XML; - is the standard output"),
    ("sarif", render_sarif, "write SARIF 2.1.0; - is the standard output"),
)
STEP_SUMMARY = "step-summary"
ANNOTATIONS = "annotations"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options for CI."""
    for name, _, text in _FILES:
        parser.add_argument(f"--{name}", metavar="FILE", help=text)
    parser.add_argument(
        f"--{STEP_SUMMARY}", metavar="FILE", help='append Markdown to a step\'s summary: "$GITHUB_STEP_SUMMARY"'
    )
    parser.add_argument(
        f"--{ANNOTATIONS}", action="store_true", help="print annotations for GitHub Actions (::error ...)"
    )


def write(options: argparse.Namespace, report: Report, result: GateResult | None) -> bool:
    """Write what was asked for; gives whether anything was.  Raises ``UsageError``."""
    asked = False
    for name, render, _ in _FILES:
        target = getattr(options, name)
        if target is not None:
            asked = True
            put(target, render(report, result))
    if options.step_summary is not None:
        asked = True
        put(options.step_summary, render_step_summary(report, result), append=True)
    if options.annotations:
        asked = True
        sys.stdout.write(render_annotations(report, result))
    return asked


def put(target: str, text: str, append: bool = False) -> None:
    """Write to a file, or to the standard output for ``-``; raises ``UsageError``."""
    if target == "-":
        sys.stdout.write(text)
        return
    try:
        with Path(target).open("a" if append else "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"cannot write '{target}': {error.strerror}") from error
