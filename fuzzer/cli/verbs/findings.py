"""``relaxfuzz findings``: what a campaign found, by family, and behind it the suspects."""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.cli.finding_filters import add_filters, chosen, nothing
from fuzzer.cli.options import add_campaign, add_triage, put_json, show
from fuzzer.core.text import WHAT_THEY_ARE, Standing, by_standing, counted, first_line, quoted_path, shell
from fuzzer.core.verb import OK, READS_ONLY, UsageError, Verb

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fuzzer.store.grouping import FamilyGroup
    from fuzzer.store.known import KnownAs
    from fuzzer.store.records import Earlier, FindingRecord


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_campaign(parser, "; the campaign may still be running")
    parser.add_argument("finding", nargs="?", metavar="ID", help="only this finding (a prefix of its id is enough)")
    parser.add_argument(
        "--family", metavar="ID", help="only the findings of one family (findings that seem to have the same cause)"
    )
    add_filters(parser)
    add_triage(parser)
    parser.add_argument(
        "--earlier", action="store_true",
        help="instead of the campaign's own findings, list the earlier findings and known cases that it reran at its "
        "start (`run --regress`), and whether each still fails",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of a table")


def _run(options: argparse.Namespace) -> int:
    from fuzzer.core.terminal import prose
    from fuzzer.findings.file import load_decisions
    from fuzzer.store.grouping import blind, group, noted
    from fuzzer.store.known import compared, ordered, recognize
    from fuzzer.store.writer import Store

    with Store.open(options.directory) as store:
        findings = [store.finding(options.finding)] if options.finding else store.findings()
        past, info = store.regressions(), store.info()
        tallies = store.tallies()
        notes = [*filter(None, [blind(tallies)]), *noted(tallies, store.lines(), store.coverage())]
    if options.earlier:
        return _show_earlier(past, options.json)
    known = recognize(findings)
    shown = chosen(compared(findings, known), options, known, info.passes)
    groups = group(shown, load_decisions(options.triage))
    if options.family is not None:
        groups = [each for each in groups if each.family.id == options.family]
        if not groups:
            raise UsageError(f"no finding in '{options.directory}' belongs to family '{options.family}'")
    if options.json:
        return put_json(_objects(shown, groups, known))
    if groups:
        show(*_table(groups, known, options.directory, ordered(findings, known)))
    else:
        show(nothing(findings, options, known, info.passes))
    show(*map(prose, notes))
    if past:
        from fuzzer.campaign.regression import in_words

        print(f"{in_words(past)} (--earlier lists them)")
    return OK


def _show_earlier(past: Sequence[Earlier], as_json: bool) -> int:
    """Return what became of earlier findings; those that need somebody's attention first."""
    from fuzzer.campaign.regression import in_words
    from fuzzer.core.terminal import MOST_ROWS, left_out, listed

    order = ["regressed", "changed", "fixed", "fails", "holds", "undecided", "waiting"]
    past = sorted(past, key=lambda each: (order.index(each.state.value), each.source, each.id))
    if as_json:
        return put_json([each.to_object() for each in past])
    if not past:
        print("the campaign began with no earlier findings (`relaxfuzz run --regress DIR`)")
        return OK
    rows = [(each.id, each.oracle, each.culprit, each.state.value, each.fixed_in or "-") for each in past[:MOST_ROWS]]
    below = [[f"  {each.source}: {first_line(each.note) or first_line(each.message)}"] for each in past[:MOST_ROWS]]
    heads = ("id", "oracle", "pass", "state", "fixed in")
    show(*listed(heads, rows, below), *left_out(past), f"\n{in_words(past)}")
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


def _table(
    groups: Sequence[FamilyGroup], known: Mapping[str, KnownAs], directory: Path, all_findings: Sequence[FindingRecord]
) -> Iterator[RenderableType]:
    """Yield findings, then questions, then suspects: a line a family, and a row a finding with its message."""
    from rich.padding import Padding

    from fuzzer.core.terminal import MOST_ROWS, left_out
    from fuzzer.store.grouping import apart_by_family
    from fuzzer.store.known import in_words

    groups_of = apart_by_family(groups, known)
    everything = [finding for part in groups_of.values() for each in part for finding in each.findings]
    findings = everything[:MOST_ROWS]
    head, *rest = (Padding(each, (0, 0, 0, 2)) for each in listed_findings(findings, known, directory))
    lines = deque(rest)
    for standing, part in groups_of.items():
        if part:
            yield f"{standing.value.capitalize()}s: {WHAT_THEY_ARE.get(standing, 'by family, most severe first')}"
            yield head
        for each in part:
            if not lines:
                break
            yield _heading(each)
            yield from (lines.popleft() for _ in each.findings[: len(lines)])
        if part:
            yield ""
    yield from left_out(everything)
    totals = by_standing(all_findings)
    told = [item for item in groups_of.items() if item[1] or item[0] is Standing.FINDING]
    yield "; ".join(_many(standing.value, part, len(totals[standing])) for standing, part in told)
    proven = [seen for each in groups_of[Standing.FINDING] for seen in each.findings]
    yield from filter(None, [in_words(proven, known), *next_steps(all_findings, known, directory)])


def next_steps(findings: Sequence[FindingRecord], known: Mapping[str, KnownAs], directory: Path) -> list[str]:
    """Write the commands that list a campaign's new and unreported findings, unless all are, and that triage more."""
    from fuzzer.store.known import reported
    from fuzzer.store.records import FindingState

    raw = [each for each in findings if each.state is FindingState.NEW]  # questions as well
    findings = by_standing(findings)[Standing.FINDING]
    new = [each for each in findings if each.state is not FindingState.KNOWN and each.id not in known]
    unreported = [each for each in findings if not reported(each, known)]
    parts = (("unknown", "--new", new), ("not reported upstream", "--unreported", unreported))
    steps = [
        f"{len(part)} {what}: {shell('relaxfuzz')} findings {quoted_path(directory)} {option}"
        for what, option, part in parts
        if 0 < len(part) < len(findings)
    ]
    return [*steps, *([triaging(len(raw), directory)] if raw else [])]


def triaging(untriaged: int, directory: Path) -> str:
    """Say how many findings are untriaged, and the command that triages them."""
    command = f"{shell('relaxfuzz')} minimize {quoted_path(directory)} --all"
    return f"{untriaged} untriaged; to confirm and minimize {'it' if untriaged == 1 else 'them'}: {command}"


def _many(noun: str, groups: Sequence[FamilyGroup], total: int) -> str:
    many = f"{len(groups)} {'family' if len(groups) == 1 else 'families'}"
    listed = sum(len(each.findings) for each in groups)
    of = f"{listed} of " if listed < total else ""
    return f"{of}{counted(total, noun)} in {many}" if groups else f"no {noun}s"


def listed_findings(
    findings: Sequence[FindingRecord], known: Mapping[str, KnownAs], directory: Path
) -> list[RenderableType]:
    """Lay out the heads, then each finding with lines of its own: beside the columns is no room for a message."""
    from fuzzer.core.terminal import listed
    from fuzzer.store.known import state_of

    rows = [
        (
            each.id, each.assessment.grade, each.oracle, each.culprit, each.count or "-",
            "-" if each.bindings is None else each.bindings, str(state_of(each, known.get(each.id))),
        )
        for each in findings
    ]  # fmt: skip
    below = [[f"  {line}" for line in _below(each, known.get(each.id), directory)] for each in findings]
    return listed(("id", "sev", "oracle", "pass", "count", "size", "state"), rows, below)


def _below(finding: FindingRecord, known: KnownAs | None, directory: Path) -> Iterator[str]:
    yield first_line(finding.title)
    for frame in finding.evidence.details.raised_at[-1:]:
        yield f"raised at: {first_line(frame)}"
    if said := known.line if known is not None else finding.others:
        yield said
    if blame := finding.assessment.beside(finding.culprit):
        yield blame
    if finding.note:
        yield f"note: {first_line(finding.note)}"
    if finding.bisected is not None:
        yield f"releases: {first_line(finding.bisected.judgement)}"
    if finding.repro:
        yield f"repro: {directory / finding.repro}"


def _heading(each: FamilyGroup) -> RenderableType:
    from rich.console import Group

    from fuzzer.core.terminal import listed

    hand = "" if each.family.decision is None else "[by hand] "
    rows = [(each.family.id, f"{hand}{each.family.text}")]
    if each.operators and len(each.findings) > 1:
        rows.append(("", f"all with {', '.join(each.operators)}"))
    return Group(*listed(("", ""), rows)[1:])


VERB = Verb(
    name="findings",
    help="list the findings of a campaign, grouped by likely cause (family)",
    example="relaxfuzz findings campaign --json",
    add_arguments=_add_arguments,
    run=_run,
    code=READS_ONLY,
)
