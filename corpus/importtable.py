"""What an import prints: tables, or an object."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tabulate import tabulate

from corpus.importing import ImportReport

MOST_REASONS = 12


def table(report: ImportReport) -> str:
    """Counts, the stages of the seeds, and the most frequent reasons why scripts are none."""
    counts = [
        ("files read", report.files),
        ("files unreadable", len(report.unreadable)),
        ("scripts found", report.candidates),
        ("parsed", report.parsed),
        ("of these with names brought up to date", report.renamed),
        ("well formed", report.well_formed),
        ("there already", report.duplicates),
        ("kept", len(report.seeds)),
        ("of these with functions to splice", sum(bool(seed.spliceable) for seed in report.seeds)),
    ]
    stages = Counter(seed.stage for seed in report.seeds)
    parts = [_plain(counts, ("import", "count"))]
    if stages:
        parts.append(_plain(sorted((stage.value, count) for stage, count in stages.items()), ("stage", "seeds")))
    if report.reasons:
        parts.append(_plain(report.reasons.most_common(MOST_REASONS), ("not kept because", "count")))
    if report.unreadable:
        rows = sorted(report.unreadable.items())[:MOST_REASONS]
        parts.append(_plain(rows, ("unreadable file", "why")))
    return "\n\n".join(parts)


def report_object(report: ImportReport) -> dict[str, Any]:
    """All of the tables, as JSON has it; ``reasons`` and ``unreadable`` in full."""
    return {
        "files": report.files,
        "candidates": report.candidates,
        "parsed": report.parsed,
        "renamed": report.renamed,
        "well_formed": report.well_formed,
        "duplicates": report.duplicates,
        "kept": len(report.seeds),
        "spliceable": sum(bool(seed.spliceable) for seed in report.seeds),
        "stages": dict(sorted(Counter(seed.stage.value for seed in report.seeds).items())),
        "reasons": dict(report.reasons.most_common()),
        "unreadable": dict(sorted(report.unreadable.items())),
    }


def _plain(rows: list[tuple[str, int]] | list[tuple[str, str]], headers: tuple[str, str]) -> str:
    return tabulate(rows, headers, tablefmt="simple", disable_numparse=True, colalign=("left", "right"))
