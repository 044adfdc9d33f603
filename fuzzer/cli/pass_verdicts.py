"""The passes of a campaign: verdicts by oracle, what was skipped and why, how often it acted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType

from fuzzer.core.terminal import listed, prose
from oracles.core.verdict import UNCHANGED, Outcome
from relaxkit.passes.contract import OracleName

if TYPE_CHECKING:
    from fuzzer.core.coverage import Coverage
    from fuzzer.store.records import Tally

LEAST = 500
"""Verdicts of an oracle on a pass below which it counts as hardly judged."""
SHOWN = 2
"""Rewrites of a pass, and reasons of an oracle, that the table shows."""
MOST = 20
"""Rewrites of a pass that JSON lists."""
Rewrites = dict[str, list[tuple[str, int]]]
_VERDICTS = (Outcome.PASS.value, Outcome.FAIL.value)
_OUTCOMES = tuple(outcome.value for outcome in Outcome)


@dataclass(slots=True)
class Judged:
    """The verdicts of one oracle on one pass: counts of outcomes, of reasons not to judge, of ways to an agreement."""

    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    reached: Counter[str] = field(default_factory=Counter)

    @property
    def verdicts(self) -> int:
        """Return how often it passed or failed."""
        return sum(self.outcomes[outcome] for outcome in _VERDICTS)


def by_pass(tallies: Iterable[Tally]) -> dict[str, dict[str, Judged]]:
    """Return pass -> oracle -> what it said, oracles in the order of ``OracleName``."""
    found: dict[str, dict[str, Judged]] = {}
    for tally in tallies:
        judged = found.setdefault(tally.culprit, {}).setdefault(tally.oracle, Judged())
        judged.outcomes[tally.outcome] += tally.count
        if tally.outcome not in _VERDICTS:
            judged.reasons[tally.outcome, tally.reason] += tally.count
        elif tally.reason:
            judged.reached[tally.reason] += tally.count
    order = [oracle.value for oracle in OracleName]
    return {name: dict(sorted(said.items(), key=lambda each: order.index(each[0]))) for name, said in found.items()}


def rewrites_of(coverage: Coverage) -> Rewrites:
    """Return pass -> its rewrites, most frequent first."""
    found: Rewrites = {}
    for (culprit, rewrite), count in sorted(coverage.rewrites.items(), key=lambda each: (-each[1], each[0])):
        found.setdefault(culprit, []).append((rewrite, count))
    return found


def seen(name: str, oracles: dict[str, Judged], coverage: Coverage, found: Rewrites) -> dict[str, Any]:
    """Return what a campaign saw of a pass, as JSON."""
    rewrites = found.get(name, [])
    tried, changed = coverage.judged[name], coverage.changed[name]
    return {
        "checks": sum(judged.verdicts for judged in oracles.values()),
        "failures": sum(judged.outcomes[Outcome.FAIL.value] for judged in oracles.values()),
        "subjects": tried,
        "changed": changed,
        "trigger_rate": round(changed / tried, 4) if tried else None,
        "distinct_rewrites": len(rewrites),
        "rewrites": [{"rewrite": rewrite, "count": count} for rewrite, count in rewrites[:MOST]],
        "oracles": {
            oracle: {
                **{outcome: judged.outcomes[outcome] for outcome in _OUTCOMES},
                "reached": dict(judged.reached),
                "reasons": [
                    {"outcome": outcome, "reason": reason, "count": count}
                    for (outcome, reason), count in judged.reasons.most_common()
                ],
            }
            for oracle, judged in oracles.items()
        },
    }


def table(rows: list[dict[str, Any]]) -> RenderableType:
    """Return a line a pass; below it what it did most often, and a line an oracle with the reasons of its skips."""
    cells = [
        (
            row["name"], row["checks"], row["failures"], row["subjects"],
            f"{100 * row['changed'] / row['subjects']:.0f}%" if row["subjects"] else "-", row["distinct_rewrites"],
        )
        for row in rows
    ]  # fmt: skip
    below = []
    for row in rows:
        text = [f"{each['count']:>8} {each['rewrite']}" for each in row["rewrites"][:SHOWN]]
        for oracle, counted in row["oracles"].items():
            text.append(f"  {oracle:<14}{_counts(counted)}")
            text += [f"{each['count']:>24} {_reason(each)}" for each in counted["reasons"][:SHOWN]]
        below.append(text)
    return Group(*listed(("pass", "checks", "failed", "tried", "changed", "rewrites"), cells, below))


def _counts(counted: dict[str, Any]) -> str:
    counts = [(outcome, counted[outcome]) for outcome in _OUTCOMES]
    text = " ".join(f"{count:>8} {outcome}" for outcome, count in counts if count or outcome == Outcome.PASS.value)
    ways = ", ".join(f"{count} {way}" for way, count in sorted(counted["reached"].items(), key=lambda each: -each[1]))
    return f"{text} ({ways})" if ways else text


def _reason(each: dict[str, Any]) -> str:
    return each["reason"] if each["outcome"] == Outcome.SKIP.value else f"{each['outcome']}: {each['reason']}"


def hardly_judged(rows: list[dict[str, Any]], oracles: Iterable[str], least: int) -> list[dict[str, Any]]:
    """Return every pass and oracle with less than ``least`` verdicts, with the most frequent reason for that.

    A module that came out as it went in is a verdict of the numeric oracle too, as it is of every other: it is only not
    executed.  How many these are, the trigger rate says.
    """
    found = []
    for row in rows:
        for oracle in oracles:
            counted = row["oracles"].get(oracle, {"reasons": []})
            numeric = [each for each in counted["reasons"] if oracle == OracleName.NUMERIC.value]
            verdicts = sum(each["count"] for each in numeric if each["reason"] == UNCHANGED)
            verdicts += sum(counted.get(outcome, 0) for outcome in _VERDICTS)
            if verdicts < least:
                why = "".join(f"{each['count']} x {_reason(each)}" for each in counted["reasons"][:1])
                found.append({"name": row["name"], "oracle": oracle, "verdicts": verdicts, "mostly": why})
    return found


def hardly_judged_text(found: list[dict[str, Any]], least: int) -> RenderableType:
    """Return one paragraph a pass."""
    if not found:
        return prose(f"every oracle has at least {least} verdicts on every pass")
    parts: dict[str, list[str]] = {}
    for each in found:
        said = f"{each['oracle']} {each['verdicts']}" + (f" ({each['mostly']})" if each["mostly"] else "")
        parts.setdefault(each["name"], []).append(said)
    return prose("\n  ".join([f"fewer than {least} verdicts:", *(f"{a}: {', '.join(b)}" for a, b in parts.items())]))
