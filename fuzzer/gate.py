"""The gate: does a campaign's record satisfy a policy?

What counts: a *check* is a pass or a failure.  A failure whose signature the policy lists as known is *excused*: it
stops nothing and is no failure in the pass rate, ``pass / (pass + fail - excused)``; otherwise a known defect would eat
the margin that is meant for new ones, and repairing it would be the only way to a green gate.  The raw rate with all
failures is printed beside it.  Excused failures still count as checks: the oracle did judge.

Any finding that is not known fails the gate, whatever the rates.  A suspect (``fuzzer.records.SUSPECTS``: triage could
not prove it) fails nothing by itself, but its failures are no less unknown, so they stay in the pass rate: were they
excused, a triage that can prove nothing would open the gate for everything.  Too few checks never pass: they are "not
enough evidence", unless something else fails already.

The parts are in ``fuzzer.gating``; docs/gate.md argues the statistics.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from fuzzer.clock import today
from fuzzer.gating.entries import entry_rulings
from fuzzer.gating.findings import Sorted, finding_rulings, known_by, sort_findings
from fuzzer.gating.limits import apply, excused_of
from fuzzer.gating.measured import Cell, Measured, Subject
from fuzzer.gating.regressions import compare, differences
from fuzzer.gating.ruling import Demand, GateExit, Ruling, Word, exit_of
from fuzzer.known import KnownFindings
from fuzzer.policy import Policy, Rule

__all__ = ["GateExit", "GateResult", "judge_campaign"]


@dataclass(frozen=True, slots=True)
class GateResult:
    """The gate's word and what decided it.

    Attributes:
        exit: The exit code.
        rulings: Everything that was demanded, and what came of it.
        rules: The policy's rules for this campaign.
        total: All verdicts together.
        excused: Failures of known findings among them.
        findings: The findings, sorted.
        measured: The campaign.
        baseline: What it was compared with.
        known: What is known of the release that was tested.
    """

    exit: GateExit
    rulings: tuple[Ruling, ...]
    rules: tuple[Rule, ...]
    total: Cell
    excused: int
    findings: Sorted
    measured: Measured
    baseline: Measured | None
    known: KnownFindings

    def of(self, *words: Word) -> list[Ruling]:
        """The rulings that say one of these."""
        return [ruling for ruling in self.rulings if ruling.word in words]


def judge_campaign(
    policy: Policy,
    measured: Measured,
    baseline: Measured | None = None,
    history: Sequence[Measured] = (),
    day: datetime.date | None = None,
) -> GateResult:
    """Apply a policy to a campaign.

    Args:
        policy: The policy.
        measured: The campaign (``fuzzer.gating.measured.measure`` reads one).
        baseline: What it is compared with, if anything.
        history: Earlier campaigns, by which entries of the known findings are stale.
        day: By which they expire; by default today.
    """
    rules = policy.expanded(measured.info.oracles, measured.info.passes)
    # An entry that speaks of another release excuses nothing: what fails the same way here is worth a look.
    known_here = policy.known.of(measured.info.tvm_version)
    known = known_by(known_here)
    excused = [each for each in measured.seen if known(each)]
    findings = sort_findings(known_here, policy.comparing.accept_findings, rules, measured, baseline)
    rulings = finding_rulings(findings)
    rulings += entry_rulings(policy, measured, history, day or today())
    for rule in rules:
        rulings += apply(rule, measured, excused, policy.confidence)
    if baseline is not None:
        silent = {rule.subject for rule in rules if not rule.limit.regression}
        rulings += compare(measured, baseline, known, policy.comparing, lambda subject: not _within(subject, silent))
        rulings += [_campaign(Word.NOTE, line) for line in differences(measured, baseline)]
    total = measured.count(Subject())
    rulings += _whole(measured, total)
    return GateResult(
        exit_of(rulings), tuple(rulings), rules, total, excused_of(Subject(), total, excused), findings, measured,
        baseline, known_here,
    )  # fmt: skip


def _within(subject: Subject, wider: set[Subject]) -> bool:
    """Whether a subject is one of these or a part of one."""
    return any(each.oracle in (None, subject.oracle) and each.culprit in (None, subject.culprit) for each in wider)


def _campaign(word: Word, told: str) -> Ruling:
    return Ruling(word, Demand.CAMPAIGN, "campaign", told)


def _whole(measured: Measured, total: Cell) -> list[Ruling]:
    rulings = []
    if total.invalid:
        told = f"{total.invalid} verdicts are invalid: the harness was wrong, they judge nothing"
        rulings.append(_campaign(Word.NOTE, told))
    if measured.info.state == "running":
        rulings.append(_campaign(Word.NOTE, "it is still running: the numbers may change"))
    if not total.checks:
        rulings.append(_campaign(Word.SHORT, "it holds no checks at all"))
    return rulings
