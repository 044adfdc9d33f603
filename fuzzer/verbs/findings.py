"""``relaxfuzz findings``: what a campaign found, by family."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.verb import OK, UsageError, Verb

if TYPE_CHECKING:
    from fuzzer.grouping import Group
    from fuzzer.records import FindingRecord

_PASS_WIDTH = 20
_WIDTH = 78
_INDENT = 2
_BELOW = " " * 11
"""As wide as the id of a family."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="the campaign's directory; it may still be running")
    parser.add_argument("--family", metavar="ID", help="only the findings of one family")
    parser.add_argument(
        "--triage",
        type=Path,
        metavar="FILE",
        help="decisions on families (default: triage.toml, where there is one; `relaxfuzz triage` writes it)",
    )
    parser.add_argument("--json", action="store_true", help="a list of objects instead of a table")


def _run(options: argparse.Namespace) -> int:
    from fuzzer.decisions import load_decisions
    from fuzzer.grouping import group
    from fuzzer.store import Store, StoreError
    from fuzzer.tomlfile import TomlError

    try:
        with Store.open(options.directory) as store:
            findings = store.findings()
        groups = group(findings, load_decisions(options.triage))
    except (StoreError, TomlError) as error:
        raise UsageError(str(error)) from error
    if options.family is not None:
        groups = [each for each in groups if each.family.id == options.family]
        if not groups:
            raise UsageError(f"no finding in '{options.directory}' is of family '{options.family}'")
    if options.json:
        print(json.dumps(_objects(findings, groups), indent=2))
    elif groups:
        print(table(groups))
    else:
        print("no findings")
    return OK


def _objects(findings: Sequence[FindingRecord], groups: Sequence[Group]) -> list[dict[str, object]]:
    """Findings first seen first, each with its family as decided."""
    family = {finding.id: each.to_object() for each in groups for finding in each.findings}
    return [{**each.to_object(), "family": family[each.id]} for each in findings if each.id in family]


def table(groups: Sequence[Group]) -> str:
    """A line a family, and below it a row a finding with its message on a line of its own."""
    from fuzzer.plaintext import columns, first_line, printable, shorten

    findings = [finding for each in groups for finding in each.findings]
    rows = [
        (
            finding.id, finding.oracle, shorten(printable(finding.culprit), _PASS_WIDTH), finding.count,
            finding.state.value, "-" if finding.bindings is None else finding.bindings,
        )
        for finding in findings
    ]  # fmt: skip
    first, rule, *lines = columns(("id", "oracle", "pass", "count", "state", "bindings"), rows)
    indent = " " * _INDENT
    shown = [indent + first, indent + rule]
    rest = iter(lines)
    for each in groups:
        shown += _heading(each)
        for finding in each.findings:
            shown.append(indent + next(rest))
            shown.append(2 * indent + shorten(first_line(finding.message, finding.kind), _WIDTH - 2 * _INDENT))
    many = f"{len(groups)} {'family' if len(groups) == 1 else 'families'}"
    return "\n".join([*shown, "", f"{len(findings)} findings in {many}"])


def _heading(each: Group) -> list[str]:
    import textwrap

    from fuzzer.plaintext import printable, shorten

    hand = "" if each.family.decision is None else "[by hand] "
    text = f"{each.family.id} {hand}{printable(each.family.text)}"
    lines = textwrap.wrap(text, _WIDTH, subsequent_indent=_BELOW, max_lines=2, placeholder=" ...")
    if each.operators and len(each.findings) > 1:
        lines.append(shorten(f"{_BELOW}all with {', '.join(each.operators)}", _WIDTH))
    return lines


VERB = Verb(
    name="findings",
    help="list the findings of a campaign by family",
    example="relaxfuzz findings campaign --json",
    add_arguments=_add_arguments,
    run=_run,
)
