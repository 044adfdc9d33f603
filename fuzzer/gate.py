"""The gate: does a campaign's record satisfy a policy?

What counts: a *check* is a pass or a failure.  A failure whose signature the policy lists as known is *excused*: it
stops nothing and is no failure in the pass rate, ``pass / (pass + fail - excused)``; otherwise a known defect would eat
the margin that is meant for new ones, and repairing it would be the only way to a green gate.  The raw rate with all
failures is printed beside it.  Excused failures still count as checks: the oracle did judge.

Any finding that is neither known nor flaky fails the gate, whatever the rates.  A flaky finding (triage did not confirm
it) fails nothing by itself, but its failures are no less unknown, so they stay in the pass rate: were they excused, a
triage that can confirm nothing would open the gate for everything.  Too few checks never pass: they are "not enough
evidence", unless something else fails already.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fuzzer.known import KnownFinding
from fuzzer.plaintext import first_line, printable, shorten
from fuzzer.policy import Policy, Rule
from fuzzer.store import CampaignInfo, FindingRecord, FindingState, Tally
from oracles.verdict import Outcome


class GateExit(enum.IntEnum):
    """Exit codes; a usage or configuration error outranks a failure, a failure outranks missing evidence."""

    PASSED = 0
    FAILED = 1
    USAGE = 2
    NO_EVIDENCE = 3


# Triage did not confirm them: they are listed with its note and do not fail the gate by themselves.
UNCONFIRMED = frozenset({FindingState.FLAKY})


@dataclass(frozen=True, slots=True)
class Count:
    """Verdicts under one rule.

    Attributes:
        passed: Passes.
        failed: Failures, all of them.
        excused: Failures of known findings among them.
    """

    passed: int
    failed: int
    excused: int

    @property
    def checks(self) -> int:
        """Pass and fail together."""
        return self.passed + self.failed

    @property
    def raw_rate(self) -> float | None:
        """Share of passes among all checks; ``None`` without any."""
        return self.passed / self.checks if self.checks else None

    @property
    def rate(self) -> float | None:
        """Share of passes among passes and failures that are not excused; ``None`` without any."""
        judged = self.checks - self.excused
        return self.passed / judged if judged else None


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One rule, applied.

    Attributes:
        rule: The rule.
        count: What it was applied to.
        exit: ``PASSED``, ``FAILED`` or ``NO_EVIDENCE``.
    """

    rule: Rule
    count: Count
    exit: GateExit


@dataclass(frozen=True, slots=True)
class GateResult:
    """The gate's word and what decided it.

    Attributes:
        exit: The exit code.
        rules: Every rule, in the policy's order.
        total: All verdicts together.
        new: Findings that fail the gate.
        known: Findings that the policy lists, each with its entry.
        flaky: Findings that triage did not confirm.
        unseen: Known entries that no finding fits.
        invalid: Verdicts in which the harness itself was wrong; shown, because they judged nothing.
    """

    exit: GateExit
    rules: tuple[RuleResult, ...]
    total: Count
    new: tuple[FindingRecord, ...]
    known: tuple[tuple[FindingRecord, KnownFinding], ...]
    flaky: tuple[FindingRecord, ...]
    unseen: tuple[KnownFinding, ...]
    invalid: int


def judge_campaign(policy: Policy, tallies: Sequence[Tally], findings: Sequence[FindingRecord]) -> GateResult:
    """Apply a policy to a campaign's tallies and findings."""
    known = [(finding, policy.known.find(finding.id, finding.signature)) for finding in findings]
    accepted = tuple((finding, entry) for finding, entry in known if entry is not None)
    open_findings = [finding for finding, entry in known if entry is None]
    flaky = tuple(finding for finding in open_findings if finding.state in UNCONFIRMED)
    new = tuple(finding for finding in open_findings if finding.state not in UNCONFIRMED)
    excused = [finding for finding, _ in accepted]
    rules = tuple(_apply(rule, tallies, excused) for rule in policy.rules)
    total = _count(None, None, tallies, excused)
    exits = {result.exit for result in rules}
    if new or GateExit.FAILED in exits:
        code = GateExit.FAILED
    elif not total.checks or GateExit.NO_EVIDENCE in exits:
        code = GateExit.NO_EVIDENCE
    else:
        code = GateExit.PASSED
    return GateResult(
        exit=code,
        rules=rules,
        total=total,
        new=new,
        known=accepted,
        flaky=flaky,
        unseen=policy.known.unseen((finding.id, finding.signature) for finding in findings),
        invalid=sum(tally.count for tally in tallies if tally.outcome == Outcome.INVALID),
    )


def _apply(rule: Rule, tallies: Sequence[Tally], excused: Sequence[FindingRecord]) -> RuleResult:
    count = _count(rule.oracle, rule.culprit, tallies, excused)
    least = rule.limit.min_pass_rate
    enough = count.checks >= rule.limit.min_checks
    # A rate that is too low on too few checks fails too: more checks may mend it, but nothing says that they will.
    if least is not None and count.rate is not None and count.rate < least:
        code = GateExit.FAILED
    elif not enough or (least is not None and count.rate is None):
        code = GateExit.NO_EVIDENCE
    else:
        code = GateExit.PASSED
    return RuleResult(rule, count, code)


def _count(
    oracle: str | None, culprit: str | None, tallies: Sequence[Tally], excused: Sequence[FindingRecord]
) -> Count:
    def fits(record: Tally | FindingRecord) -> bool:
        return (oracle is None or str(record.oracle) == oracle) and (culprit is None or record.culprit == culprit)

    passed = sum(tally.count for tally in tallies if tally.outcome == Outcome.PASS and fits(tally))
    failed = sum(tally.count for tally in tallies if tally.outcome == Outcome.FAIL and fits(tally))
    # A finding never counts more than the failures that were tallied.
    return Count(passed, failed, min(failed, sum(finding.count for finding in excused if fits(finding))))


def render(result: GateResult, info: CampaignInfo) -> list[str]:
    """The few lines that decided, for people; the last one is the verdict."""
    lines = [_rule_line(rule) for rule in result.rules]
    lines += [f"FAIL  new finding {_finding_line(finding)}" for finding in result.new]
    for finding, entry in result.known:
        lines.append(f"known {_finding_line(finding)}; {entry.reference}: {entry.reason}")
    for finding in result.flaky:
        lines.append(f"flaky {_finding_line(finding)}: {first_line(finding.note, 'not confirmed')}")
    lines += [f"note  known '{entry.name}' was not seen ({entry.reference})" for entry in result.unseen]
    if result.invalid:
        lines.append(f"note  {result.invalid} verdicts are invalid: the harness was wrong, they judge nothing")
    if info.state == "running":
        lines.append("note  the campaign is still running: the numbers may change")
    if not result.total.checks:
        lines.append("SHORT the campaign holds no checks at all")
    word = {
        GateExit.PASSED: "passed",
        GateExit.FAILED: "FAILED",
        GateExit.NO_EVIDENCE: "NOT ENOUGH EVIDENCE",
    }[result.exit]
    versions = f"TVM {info.tvm_version}"
    lines.append(f"gate {word}: {versions}, {result.total.checks} checks, {len(result.new)} new, "
                 f"{len(result.known)} known, {len(result.flaky)} flaky findings")  # fmt: skip
    return lines


def _rule_line(result: RuleResult) -> str:
    count, limit = result.count, result.rule.limit
    word = {GateExit.PASSED: "ok   ", GateExit.FAILED: "FAIL ", GateExit.NO_EVIDENCE: "SHORT"}[result.exit]
    rate = f"pass rate {_percent(count.rate)}"
    if limit.min_pass_rate is not None:
        rate += f" (at least {_percent(limit.min_pass_rate)})"
    if count.excused:
        rate += f", {_percent(count.raw_rate)} with {count.excused} known failures"
    return f"{word} {result.rule.name}: {rate}; {count.checks} checks (at least {limit.min_checks})"


def _percent(rate: float | None) -> str:
    if rate is None:
        return "unknown"
    # Never round up to a rate that was not reached: 99.996 % is not 100 %.
    # The millionth undoes binary fractions that lie just below their decimal.
    return f"{math.floor(rate * 1e5 + 1e-6) / 1e3:g} %"


def _finding_line(finding: FindingRecord) -> str:
    message = shorten(first_line(finding.message, finding.kind), 120)
    where = f" [{finding.repro}]" if finding.repro else ""
    return f"{finding.id} {finding.oracle} {printable(finding.culprit)}: {message} ({finding.count}x){where}"


def as_json(result: GateResult, info: CampaignInfo) -> dict[str, Any]:
    """The result as plain values; ``exit`` is the exit code, ``verdict`` its name."""

    def count_values(count: Count) -> dict[str, Any]:
        return {
            "checks": count.checks, "passed": count.passed, "failed": count.failed, "excused": count.excused,
            "pass_rate": count.rate, "raw_pass_rate": count.raw_rate,
        }  # fmt: skip

    def finding_values(finding: FindingRecord) -> dict[str, Any]:
        return {
            "id": finding.id, "signature": finding.signature, "oracle": str(finding.oracle), "pass": finding.culprit,
            "message": finding.message, "count": finding.count, "state": finding.state.value, "repro": finding.repro,
            "note": finding.note,
        }  # fmt: skip

    return {
        "exit": int(result.exit),
        "verdict": result.exit.name.lower().replace("_", " "),
        "tvm_version": info.tvm_version,
        "total": count_values(result.total),
        "rules": [
            {
                "oracle": rule.rule.oracle, "pass": rule.rule.culprit, "min_pass_rate": rule.rule.limit.min_pass_rate,
                "min_checks": rule.rule.limit.min_checks, "verdict": rule.exit.name.lower().replace("_", " "),
                **count_values(rule.count),
            }
            for rule in result.rules
        ],
        "new": [finding_values(finding) for finding in result.new],
        "known": [
            {**finding_values(finding), "reference": entry.reference, "reason": entry.reason}
            for finding, entry in result.known
        ],
        "flaky": [finding_values(finding) for finding in result.flaky],
        "unseen_known": [{"name": entry.name, "reference": entry.reference} for entry in result.unseen],
        "invalid": result.invalid,
    }  # fmt: skip
