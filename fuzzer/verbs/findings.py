"""``relaxfuzz findings``: what a campaign found."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.verb import OK, UsageError, Verb

if TYPE_CHECKING:
    from fuzzer.records import FindingRecord

_PASS_WIDTH = 26
_WIDTH = 78


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="the campaign's directory; it may still be running")
    parser.add_argument("--json", action="store_true", help="a list of objects instead of a table")


def _run(options: argparse.Namespace) -> int:
    from fuzzer.store import Store, StoreError

    try:
        with Store.open(options.directory) as store:
            findings = store.findings()
    except StoreError as error:
        raise UsageError(str(error)) from error
    if options.json:
        print(json.dumps([finding.to_object() for finding in findings], indent=2))
    elif findings:
        print(table(findings))
    else:
        print("no findings")
    return OK


def table(findings: list[FindingRecord]) -> str:
    """One row a finding, its message on a line of its own below: beside six columns 80 leave no room for it."""
    from tabulate import tabulate

    from fuzzer.plaintext import first_line, printable, shorten

    rows = [
        (
            finding.id, finding.oracle, shorten(printable(finding.culprit), _PASS_WIDTH), finding.count,
            finding.state.value, "-" if finding.bindings is None else finding.bindings,
        )
        for finding in findings
    ]  # fmt: skip
    head = ("id", "oracle", "pass", "count", "state", "bindings")
    first, rule, *lines = tabulate(rows, head, tablefmt="simple", disable_numparse=True).splitlines()
    shown = [first.rstrip(), rule]
    for finding, line in zip(findings, lines, strict=True):
        shown.append(line.rstrip())
        shown.append(f"  {shorten(first_line(finding.message, finding.kind), _WIDTH)}")
    return "\n".join(shown)


VERB = Verb(
    name="findings",
    help="list the findings of a campaign",
    example="relaxfuzz findings campaign --json",
    add_arguments=_add_arguments,
    run=_run,
)
