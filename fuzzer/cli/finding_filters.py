"""The options that choose among a campaign's findings, which several verbs share."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fuzzer.core.text import by_standing, counted, enumerated
from fuzzer.core.verb import UsageError

if TYPE_CHECKING:
    from fuzzer.store.known import KnownAs
    from fuzzer.store.records import FindingRecord

_STATES = ("untriaged", "confirmed", "unscripted", "flaky", "known")
_IN_STATE = (
    "(or suspects: unscripted, flaky) in this state; known: on your list, or found by an earlier campaign and "
    "reproduced at the start of this one"
)
_NEW = (
    "that --known does not select (the gate considers only your list and, if the policy accepts them, the findings in "
    "the baseline, so it may count more findings as new)"
)


def _number(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


_number.__name__ = "positive number"  # what argparse says of a wrong value


def _state(text: str) -> str:
    return "untriaged" if text == "new" else text  # as the store has it


def add_filters(parser: argparse.ArgumentParser, where: str = "") -> None:
    """Add the options; of one that may be given several times, any will do."""
    # Names of ``fuzzer.findings.assessment`` and ``fuzzer.store.records``, which a parser has no time to load.
    group = parser.add_argument_group(f"select findings{where}")
    for name, values, text in (
        ("severity", ("S1", "S2", "S3", "S4", "S5"), "of this severity (S1 is the most severe)"),
        ("state", _STATES, _IN_STATE),
        ("pass", None, "in which this pass was tested or is at fault"),
        ("oracle", None, "of this oracle"),
    ):
        group.add_argument(
            f"--{name}",
            dest=f"only_{name}",
            action="append",
            choices=values,
            type={"severity": str.upper, "state": _state}.get(name, str),
            metavar=name.upper() if values is None else None,
            help=f"only findings {text}; repeatable",
        )
    group.add_argument(
        "--unreported",
        action="store_true",
        help="only findings for which no upstream issue or pull request is known; with --known, those that are on your "
        "list or in the corpus but not reported upstream",
    )
    listed = group.add_mutually_exclusive_group()
    for name, text in (("new", _NEW), ("known", "on your list, reported upstream, in the corpus, or in state known")):
        listed.add_argument(f"--{name}", action="store_true", help=f"only findings {text}")
    group.add_argument("--limit", type=_number, metavar="N", help="only the N most severe findings")


def chosen(
    findings: Sequence[FindingRecord], options: argparse.Namespace, known: Mapping[str, KnownAs], passes: Sequence[str]
) -> list[FindingRecord]:
    """Return the findings that the options leave, the gravest first.

    Args:
        findings: Of a campaign.
        options: As they were given.
        known: What people know of them, by id.
        passes: The campaign's.

    Raises:
        UsageError: An oracle is asked for that does not exist, or a pass that the campaign has not.
    """
    from fuzzer.store.known import ordered, reported, state_of
    from fuzzer.store.records import FindingState
    from relaxkit.near import near_matches
    from relaxkit.passes.contract import OracleName

    names = [name.value for name in OracleName]
    for each in options.only_oracle or ():
        if each not in names:
            raise UsageError(f"--oracle: '{each}' is not an oracle{near_matches(each, names)}")

    there = sorted({*passes, *(name for each in findings for name in (each.culprit, each.assessment.blame))})
    for each in options.only_pass or ():
        if each not in there:
            raise UsageError(f"--pass: the campaign has no pass '{each}'{near_matches(each, there)}")

    def fits(finding: FindingRecord) -> bool:
        listed = finding.state is FindingState.KNOWN or finding.id in known
        pairs = (
            (options.only_severity, {finding.assessment.severity.value}),
            (options.only_state, {str(finding.state), str(state_of(finding, known.get(finding.id)))}),
            (options.only_pass, {finding.culprit, finding.assessment.blame}),
            (options.only_oracle, {str(finding.oracle)}),
        )
        return (
            (listed or not options.known)
            and not (listed and options.new)
            and not (options.unreported and reported(finding, known))
            and all(wanted is None or not has.isdisjoint(wanted) for wanted, has in pairs)
        )

    return ordered(filter(fits, findings), known)[: options.limit]


def nothing(
    findings: Sequence[FindingRecord], options: argparse.Namespace, known: Mapping[str, KnownAs], passes: Sequence[str]
) -> str:
    """Say why the options, taken as by :func:`chosen`, leave nothing."""
    others = argparse.Namespace(**{**vars(options), "new": False, "limit": None})
    if options.new and (listed := chosen(findings, others, known, passes)):
        verb, them = ("is", "it") if len(listed) == 1 else ("are", "them")
        return (
            f"no unknown findings: {_many(listed)} {verb} known; leave out --new to list {them}. "
            "The gate counts as new what is neither on your list nor in a baseline whose findings the policy accepts"
        )
    return f"no match among {_many(findings)}" if findings else "no findings"


def _many(findings: Sequence[FindingRecord]) -> str:
    return enumerated([counted(len(each), standing.value) for standing, each in by_standing(findings).items() if each])
