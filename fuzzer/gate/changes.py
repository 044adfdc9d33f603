"""Changes since a baseline, without a policy: rates, triggers, findings that came and went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fuzzer.core.text import Standing, by_standing, counted, first_line
from fuzzer.core.verb import UsageError
from fuzzer.findings.signature import readable
from fuzzer.gate.measured import MeasuredCampaign, SeenFinding
from fuzzer.gate.policy import Comparing
from fuzzer.gate.regressions import SUMMARY, compare, differences
from fuzzer.gate.ruling import Requirement, Ruling, RulingStatus, percent

_MOST = 10


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes between a baseline and a campaign.

    Attributes:
        rulings: Every comparison, the most significant first.
        better: The comparisons the other way round, those that are significant.
        come: Findings that the baseline does not have.
        gone: Findings that only the baseline has.
        differences: What makes the two less comparable.
    """

    rulings: Sequence[Ruling]
    better: Sequence[Ruling]
    come: Sequence[SeenFinding]
    gone: Sequence[SeenFinding]
    differences: Sequence[str]

    @property
    def worse(self) -> list[Ruling]:
        """Regressions and collapses."""
        return [ruling for ruling in self.rulings if ruling.status is RulingStatus.FAIL]

    @property
    def short(self) -> list[Ruling]:
        """Subjects without any evidence left."""
        return [ruling for ruling in self.rulings if ruling.status is RulingStatus.SHORT]


def compare_with(now: MeasuredCampaign, before: MeasuredCampaign) -> Changes:
    """Compare a campaign with a baseline; nothing is excused, since no policy says what is known."""
    if set(now.info.passes) != set(before.info.passes):
        raise UsageError("the campaign and the baseline tested different passes: there is nothing to compare")
    chosen = Comparing()
    mine, theirs = {name for each in now.seen for name in (each.id, each.former)}, {each.id for each in before.seen}
    return Changes(
        rulings=[each for each in compare(now, before, lambda _: False, chosen) if each.subject != SUMMARY],
        better=[each for each in compare(before, now, lambda _: False, chosen) if each.status is RulingStatus.FAIL],
        come=[each for each in now.seen if theirs.isdisjoint((each.id, each.former))],
        gone=[each for each in before.seen if each.id not in mine],
        differences=differences(now, before),
    )


def render(changes: Changes) -> list[str]:
    """Lines for people; the last one sums up."""
    worse, short = changes.worse, changes.short
    lines = [ruling.line for ruling in worse[:_MOST]] + _more(worse, "FAIL")
    lines += [ruling.line for ruling in short[:_MOST]] + _more(short, "SHORT")
    lines += [_better_line(ruling) for ruling in changes.better[:_MOST]]
    lines += _more(changes.better, "better")
    come, gone = by_standing(changes.come), by_standing(changes.gone)
    for status, parts in (("new", come), ("gone", gone)):
        seen = [each for part in parts.values() for each in part]
        lines += [f"{status:<5} {_line(each)}" for each in seen[:_MOST]] + _more(seen, f"{status:<5}")
    lines += [f"note  {line}" for line in changes.differences]
    moved = "; ".join(
        f"{counted(len(come[standing]), standing.value)} new, {len(gone[standing])} gone"
        for standing in Standing
        if standing is Standing.FINDING or come[standing] or gone[standing]
    )
    lacking = f", {len(short)} without checks" if short else ""
    compared = counted(len(changes.rulings) - len(short), "comparison")
    lines.append(f"{compared}: {len(worse)} worse, {len(changes.better)} better{lacking}; {moved}")
    return lines


def _more(rows: Sequence[object], status: str) -> list[str]:
    return [f"{status} and {len(rows) - _MOST} more: --json lists them"] if len(rows) > _MOST else []


def _better_line(ruling: Ruling) -> str:
    what = "changed" if ruling.requirement is Requirement.COLLAPSE else "pass rate"
    # The two were compared the other way round: here the campaign is what the baseline was compared with.
    now, before = ruling.numbers["baseline_rate"], ruling.numbers["rate"]
    return f"better {ruling.subject}: {what} {percent(now)}, {percent(before)} in the baseline"


def _line(seen: SeenFinding) -> str:
    mark = "" if seen.standing is Standing.FINDING else f", {seen.standing}"
    return f"{seen.id} ({seen.count}x{mark}) {first_line(readable(seen.signature))}"


def as_json(changes: Changes) -> dict[str, Any]:
    """The same as plain values."""

    def rows(rulings: Sequence[Ruling]) -> list[dict[str, Any]]:
        return [
            {"word": each.status.value.lower(), "demand": each.requirement.value, "subject": each.subject,
             "numbers": dict(each.numbers)}
            for each in rulings
        ]  # fmt: skip

    def findings(seen: Sequence[SeenFinding]) -> list[dict[str, Any]]:
        return [
            {"id": each.id, "signature": each.signature, "oracle": each.oracle, "pass": each.culprit,
             "count": each.count, "suspect": each.suspect, "question": each.question}
            for each in seen
        ]  # fmt: skip

    return {
        "comparisons": rows(changes.rulings),
        "worse": rows(changes.worse),
        "short": rows(changes.short),
        "better": [
            {"demand": each.requirement.value, "subject": each.subject, "rate": each.numbers["baseline_rate"],
             "baseline_rate": each.numbers["rate"], "p": each.numbers["p"]}
            for each in changes.better
        ],
        "new": findings(changes.come),
        "gone": findings(changes.gone),
        "differences": list(changes.differences),
    }  # fmt: skip
