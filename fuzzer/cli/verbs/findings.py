"""``relaxfuzz findings``: what a campaign found, by family, and behind it the suspects."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from fuzzer.cli.finding_filters import add_filters, chosen
from fuzzer.cli.options import add_campaign, add_triage, show
from fuzzer.core.verb import OK, READS_ONLY, UsageError, Verb

if TYPE_CHECKING:
    from fuzzer.store.grouping import FamilyGroup
    from fuzzer.store.known import KnownAs
    from fuzzer.store.records import Earlier, FindingRecord

_PASS_WIDTH = 16
_WIDTH = 78
_INDENT = 2
_BELOW = " " * 11
"""As wide as the id of a family."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_campaign(parser, "; the campaign may still be running")
    parser.add_argument("--family", metavar="ID", help="only the findings of one family")
    add_filters(parser)
    add_triage(parser)
    parser.add_argument(
        "--earlier",
        action="store_true",
        help="instead, list the earlier findings and cases that the campaign began with, and what became of them",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of a table")


def _run(options: argparse.Namespace) -> int:
    from fuzzer.core.text import counted
    from fuzzer.findings.file import load_decisions
    from fuzzer.store.grouping import group
    from fuzzer.store.known import recognize
    from fuzzer.store.writer import Store

    with Store.open(options.directory) as store:
        findings, past = store.findings(), store.regressions()
    if options.earlier:
        return _show_earlier(past, options.json)
    known = recognize(findings)
    shown = chosen(findings, options, known)
    groups = group(shown, load_decisions(options.triage))
    if options.family is not None:
        groups = [each for each in groups if each.family.id == options.family]
        if not groups:
            raise UsageError(f"no finding in '{options.directory}' belongs to family '{options.family}'")
    if options.json:
        print(json.dumps(_objects(shown, groups, known), indent=2))
    elif groups:
        show(table(groups, known))
    else:
        print(f"no match among {counted(len(findings), 'finding')}" if findings else "no findings")
    if past and not options.json:
        from fuzzer.campaign.regression import in_words

        print(f"{in_words(past)} (--earlier lists them)")
    return OK


def _show_earlier(past: Sequence[Earlier], as_json: bool) -> int:
    """Return what became of earlier findings; those that need somebody's attention first."""
    from fuzzer.campaign.regression import in_words
    from fuzzer.core.text import columns, first_line, printable, shorten
    from fuzzer.store.records import EarlierState

    order = (
        EarlierState.REGRESSED,
        EarlierState.CHANGED,
        EarlierState.FIXED,
        EarlierState.FAILS,
        EarlierState.HOLDS,
        EarlierState.UNDECIDED,
        EarlierState.WAITING,
    )
    past = sorted(past, key=lambda each: (order.index(each.state), each.source, each.id))
    if as_json:
        print(json.dumps([each.to_object() for each in past], indent=2))
        return OK
    if not past:
        print("the campaign began with no earlier findings (`relaxfuzz run --regress DIR`)")
        return OK
    rows = [
        (each.id, each.oracle, shorten(printable(each.culprit), _PASS_WIDTH), each.state.value, each.fixed_in or "-")
        for each in past
    ]
    first, rule, *lines = columns(("id", "oracle", "pass", "state", "fixed in"), rows)
    print(first, rule, sep="\n")
    for each, line in zip(past, lines, strict=True):
        text = first_line(each.note) or first_line(each.message)
        print(line, " " * _INDENT + shorten(f"{each.source}: {printable(text)}", _WIDTH - _INDENT), sep="\n")
    print(f"\n{in_words(past)}")
    return OK


def _objects(
    findings: Sequence[FindingRecord], groups: Sequence[FamilyGroup], known: Mapping[str, KnownAs]
) -> list[dict[str, object]]:
    """Return findings, each with its family as decided."""
    family = {finding.id: each.to_object() for each in groups for finding in each.findings}
    told = {name: each.to_object() for name, each in known.items()}
    return [
        {**each.to_object(), "family": family[each.id], "known": told.get(each.id)}
        for each in findings
        if each.id in family
    ]


def table(groups: Sequence[FamilyGroup], known: Mapping[str, KnownAs] | None = None) -> str:
    """Return findings, then questions, then suspects: a line a family, and a row a finding with its message.

    Args:
        groups: The families.
        known: What people know of findings, by id.
    """
    told = known or {}
    from fuzzer.core.text import WHAT_THEY_ARE, Standing, columns, printable, shorten
    from fuzzer.store.grouping import apart_by_family
    from fuzzer.store.known import in_words

    groups_of = apart_by_family(groups)
    rows = [
        (
            finding.id, finding.assessment.severity, finding.oracle, shorten(printable(finding.culprit), _PASS_WIDTH),
            finding.count, finding.state.value, "-" if finding.bindings is None else finding.bindings,
        )
        for part in groups_of.values()
        for each in part
        for finding in each.findings
    ]  # fmt: skip
    first, rule, *lines = columns(("id", "sev", "oracle", "pass", "count", "state", "bindings"), rows)
    heads = [" " * _INDENT + first, " " * _INDENT + rule]
    rest = iter(lines)
    parts = []
    for standing, part in groups_of.items():
        title = [f"{standing.value.capitalize()}s: {WHAT_THEY_ARE[standing]}"] if standing in WHAT_THEY_ARE else []
        if part:
            parts.append("\n".join([*title, *heads, *(line for each in part for line in _family(each, rest, told))]))
    counted = [item for item in groups_of.items() if item[1] or item[0] is Standing.FINDING]
    totals = "; ".join(_many(standing.value, part) for standing, part in counted)
    words = in_words([finding for each in groups_of[Standing.FINDING] for finding in each.findings], told)
    return "\n\n".join([*parts, "\n".join(filter(None, [totals, words]))])


def _many(noun: str, groups: Sequence[FamilyGroup]) -> str:
    from fuzzer.core.text import counted

    many = f"{len(groups)} {'family' if len(groups) == 1 else 'families'}"
    return f"{counted(sum(len(each.findings) for each in groups), noun)} in {many}" if groups else f"no {noun}s"


def _family(each: FamilyGroup, rows: Iterator[str], known: Mapping[str, KnownAs]) -> Iterator[str]:
    """Yield the lines of a family; ``rows`` gives the row of each finding in turn."""
    from fuzzer.core.text import first_line, printable, shorten

    indent = " " * _INDENT
    yield from _heading(each)
    for finding in each.findings:
        yield indent + next(rows)
        yield 2 * indent + shorten(first_line(finding.title), _WIDTH - 2 * _INDENT)
        if finding.id in known:
            yield 2 * indent + shorten(known[finding.id].line, _WIDTH - 2 * _INDENT)
        if blame := finding.assessment.beside(finding.culprit):
            yield 2 * indent + shorten(printable(blame), _WIDTH - 2 * _INDENT)
        if finding.bisected is not None:
            yield 2 * indent + shorten(first_line(finding.bisected.judgement), _WIDTH - 2 * _INDENT)


def _heading(each: FamilyGroup) -> list[str]:
    import textwrap

    from fuzzer.core.text import printable, shorten

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
    code=READS_ONLY,
)
