"""The ledger of defects, generated from the corpus: ``python -m corpus.ledger`` writes ``docs/bugs.md``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from corpus.case import KnownCase
from corpus.loader import load
from oracles.verdict import Outcome
from releases.known import numbers

LEDGER = Path(__file__).resolve().parent.parent / "docs" / "bugs.md"
_HEAD = """# Defects of TVM in the corpus

Generated from `corpus/cases` by `python -m corpus.ledger`; do not edit. Each line is a case that CI checks:
`relaxfuzz corpus check CASE` runs it.
"""
_REPAIRED = """The versions are those that are clean. A replica of the old behaviour, where there is one, shows that the
oracle would catch the defect again.
"""
_COLUMNS = "| pass | oracle | what is wrong | versions | upstream | case |\n| --- | --- | --- | --- | --- | --- |"


def render_ledger(cases: Sequence[KnownCase]) -> str:
    """The ledger as Markdown: live defects first, then those that TVM has repaired."""
    live = [case for case in cases if _is_live(case)]
    repaired = [case for case in cases if not _is_live(case)]
    lines = [_HEAD, f"## Live: {len(live)}\n", _COLUMNS]
    lines += [_line(case, _versions(case, Outcome.FAIL)) for case in _ordered(live)]
    if repaired:
        lines += [
            f"\n## Repaired: {len(repaired)}\n",
            _REPAIRED,
            _COLUMNS,
        ]
        lines += [_line(case, _versions(case, Outcome.PASS)) for case in _ordered(repaired)]
    return "\n".join(lines) + "\n"


def _ordered(cases: Sequence[KnownCase]) -> list[KnownCase]:
    return sorted(cases, key=lambda case: (case.blamed, case.slug))


def _is_live(case: KnownCase) -> bool:
    """Whether the newest release of which the case says anything has the defect."""
    newest = max(case.expected, key=numbers, default=None)
    return newest is not None and case.expected[newest].outcome is Outcome.FAIL


def _versions(case: KnownCase, outcome: Outcome) -> list[str]:
    return [version for version, expectation in case.expected.items() if expectation.outcome is outcome]


def _line(case: KnownCase, versions: Sequence[str]) -> str:
    what = f"{case.title}: {case.explanation}"
    if case.replica:
        what += " (with replica)"
    slug = f"[{case.slug}](../corpus/cases/{case.slug}/case.toml)"
    upstream = _upstream(case.upstream)
    values = (case.blamed, str(case.oracle), what, ", ".join(versions), upstream, slug)
    return "| " + " | ".join(value.replace("|", "\\|") for value in values) + " |"


def _upstream(reference: str) -> str:
    repository, _, number = reference.partition("#")
    if repository == "apache/tvm" and number.isdigit():
        return f"[{number}](https://github.com/{repository}/issues/{number})"
    return reference


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the ledger, or with ``--check`` say whether it is stale (exit 1)."""
    parser = argparse.ArgumentParser(prog="python -m corpus.ledger", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the file is stale")
    parser.add_argument("--out", type=Path, default=LEDGER, metavar="FILE")
    options = parser.parse_args(arguments)
    text = render_ledger(load())
    if options.check:
        fresh = options.out.is_file() and options.out.read_text(encoding="utf-8") == text
        if not fresh:
            print(f"{options.out} is stale: run python -m corpus.ledger", file=sys.stderr)
        return 0 if fresh else 1
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
