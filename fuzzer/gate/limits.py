"""Limits of the policy on an oracle, a pass, or the campaign, held against what was counted.

Rates of the compiler are estimates, so they are judged by Wilson's interval: a pass rate must be *shown*, by the
interval's lower end, and a trigger rate fails when it is shown to be too low, by the upper end.  Shares of skips,
rejects and undecidable comparisons are no estimates: they say how much of this very campaign is without judgement, so
they are compared as they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import ceil
from operator import attrgetter
from typing import NamedTuple

from fuzzer.core.text import counted
from fuzzer.gate.measured import Cell, GateSubject, MeasuredCampaign, SeenFinding
from fuzzer.gate.policy import Rule
from fuzzer.gate.ruling import Requirement, Ruling, RulingStatus, percent
from fuzzer.gate.statistics import needed_without_failure, wilson
from oracles.core.verdict import CUT_SHORT, NOT_APPLICABLE, NOTE, UNDECIDED, UNPROMISED, UNUSABLE, Agreement, Outcome

_REASONS = 2


def apply(rule: Rule, measured: MeasuredCampaign, excused: Iterable[SeenFinding], confidence: float) -> list[Ruling]:
    """Everything that one rule demands; ``confidence`` is that of Wilson's interval."""
    cell = measured.count(rule.subject)
    moot = _moot(rule, measured)
    rulings = [_checks(rule, cell, moot, measured)]
    if rule.limit.min_pass_rate is not None:
        rulings.append(_pass_rate(rule, cell, excused_of(rule.subject, cell, excused), confidence))
    shares = (_share(rule, measured, cell, row) for row in _SHARES)
    rulings += [ruling for ruling in shares if ruling is not None]
    if rule.limit.max_unproved_share is not None:
        ways = dict(measured.reasons(rule.subject, Outcome.PASS, frozenset(each.value for each in Agreement)))
        total = sum(ways.values())
        count = total - ways.get(Agreement.PROVED.value, 0)
        # Without an agreement nothing was proved: that is no evidence.
        rulings.append(
            _at_most(rule, Requirement.UNPROVED, count, total, "of agreements not proved", RulingStatus.SHORT)
        )
    if rule.limit.min_trigger_rate is not None:
        rulings.append(_trigger(rule, *measured.trigger(rule.subject), confidence))
    if rule.limit.min_changed is not None:
        rulings.append(_changed(rule, rule.limit.min_changed, measured))
    return rulings


def excused_of(subject: GateSubject, cell: Cell, excused: Iterable[SeenFinding]) -> int:
    """Failures of known findings within a subject; never more than the failures that were counted."""
    return min(cell.failed, sum(each.count for each in excused if subject.holds(each.oracle, each.culprit)))


def _changed(rule: Rule, least: int, measured: MeasuredCampaign) -> Ruling:
    judged, changed = measured.trigger(rule.subject)
    status = RulingStatus.OK if changed >= least else RulingStatus.SHORT
    detail = f"changed {changed} of {counted(judged, 'module')}, at least {least} needed"
    if status is RulingStatus.SHORT and measured.always_failed(rule.subject.culprit):
        detail += "; the pass failed on every module"
    elif status is RulingStatus.SHORT:
        detail += _time_for(least, changed, measured)
    return _ruling(status, Requirement.CHANGED, rule, detail, changed=changed, limit=least, judged=judged)


def _ruling(
    status: RulingStatus, requirement: Requirement, rule: Rule, detail: str, **numbers: float | int | None
) -> Ruling:
    return Ruling(status, requirement, rule.name, detail, numbers, rule.own)


def _moot(rule: Rule, measured: MeasuredCampaign, always: frozenset[str] = NOT_APPLICABLE) -> int:
    """Count the skips where there was nothing to judge: those of these reasons, and what a pass never promised."""
    reasons = measured.reasons(rule.subject, Outcome.SKIP)
    moot = always | (UNUSABLE if any(reason.startswith(UNPROMISED) for reason, _ in reasons) else set())
    return sum(count for reason, count in reasons if reason in moot or reason.startswith(NOTE))


def _time_for(least: int, count: int, measured: MeasuredCampaign) -> str:
    """Estimate how long a campaign must be, where what was counted in this one is too little and not nothing."""
    return f"; at this speed, about {ceil(measured.info.elapsed_seconds * least / count / 60)} min" if count else ""


def _checks(rule: Rule, cell: Cell, moot: int, measured: MeasuredCampaign) -> Ruling:
    least = rule.limit.min_checks
    applies = moot < cell.verdicts or not cell.verdicts
    status = RulingStatus.OK if cell.checks >= least or not applies else RulingStatus.SHORT
    detail = f"{counted(cell.checks, 'check')}, at least {least} needed"
    if not applies:
        detail = f"does not apply: {counted(cell.verdicts, 'verdict')}, but nothing to judge"
    elif status is RulingStatus.SHORT and cell.checks:
        detail += _time_for(least, cell.checks, measured)
    elif not cell.checks and cell.verdicts:
        detail += f"; {counted(cell.skipped, 'skip')}, {counted(cell.rejected, 'reject')}"
        detail += "".join(
            f"; most frequent reason: {why}" for why, _ in measured.reasons(rule.subject, Outcome.SKIP)[:1]
        )
    return _ruling(status, Requirement.CHECKS, rule, detail, checks=cell.checks, limit=least, verdicts=cell.verdicts)


def _pass_rate(rule: Rule, cell: Cell, excused: int, confidence: float) -> Ruling:
    least = rule.limit.min_pass_rate
    assert least is not None
    judged = cell.checks - excused
    rate = cell.passed / judged if judged else None
    interval = wilson(cell.passed, judged, confidence)
    detail = f"pass rate {percent(rate)} (at least {percent(least)}; {cell.passed} of {judged}"
    detail += f", {percent(interval.low)} to {percent(interval.high)})"
    if rate is None:
        status = RulingStatus.SHORT
    elif rate < least:
        # More checks may mend it, but nothing says that they will.
        status = RulingStatus.FAIL
    elif least == 1.0 or interval.low >= least:
        # No number of passes shows that a rate is exactly 1, so 1 demands that no check failed; how many there must
        # be is for min_checks to say.
        status = RulingStatus.OK
    else:
        status = RulingStatus.SHORT
        if cell.passed == judged:
            detail += f"; {needed_without_failure(least, confidence)} passing checks without a failure would be enough"
        else:
            detail += "; more checks at this rate would be enough" if rate > least else "; the rate is at the limit"
    if excused:
        raw = cell.passed / cell.checks
        detail += f"; {percent(raw)} with {counted(excused, 'excused failure')}"
    return _ruling(
        status, Requirement.PASS_RATE, rule, detail, rate=rate, limit=least, low=interval.low, high=interval.high,
        passed=cell.passed, failed=cell.failed, excused=excused, judged=judged, confidence=confidence,
    )  # fmt: skip


class _Share(NamedTuple):
    """A share that is limited: what is counted, out of what, how it is called, whose reasons are named."""

    requirement: Requirement
    part: Callable[[Cell], int]
    whole: Callable[[Cell], int]
    called: str
    outcome: Outcome
    among: frozenset[str] | None = None


_CELL = attrgetter("verdicts")
_SHARES = (
    _Share(Requirement.SKIPS, attrgetter("skipped"), _CELL, "skipped", Outcome.SKIP),
    _Share(Requirement.REJECTS, attrgetter("rejected"), _CELL, "rejected", Outcome.REJECT),
    _Share(Requirement.UNDECIDABLE, attrgetter("undecidable"), lambda cell: cell.undecidable + cell.checks,
           "undecidable", Outcome.SKIP, UNDECIDED),
    _Share(Requirement.INVALID, attrgetter("invalid"), _CELL, "invalid", Outcome.INVALID),
)  # fmt: skip


def _share(rule: Rule, measured: MeasuredCampaign, cell: Cell, of: _Share) -> Ruling | None:
    if getattr(rule.limit, of.requirement.value) is None:
        return None
    moot = _moot(rule, measured, NOT_APPLICABLE | {CUT_SHORT}) if of.requirement is Requirement.SKIPS else 0
    reasons = measured.reasons(rule.subject, of.outcome, of.among)[:_REASONS]
    mostly = ", mostly " + ", ".join(f"{number} x {why}" for why, number in reasons)
    # Nothing said is no evidence that little is skipped, but that is for min_checks to find.
    return _at_most(
        rule, of.requirement, of.part(cell) - moot, of.whole(cell) - moot, of.called, RulingStatus.OK, mostly
    )


def _at_most(
    rule: Rule, requirement: Requirement, count: int, total: int, called: str, without: RulingStatus, mostly: str = ""
) -> Ruling:
    """Hold a share against its limit, ``without`` any the status is that, and say why it is ``mostly`` too large."""
    most, share = getattr(rule.limit, requirement.value), count / total if total else None
    detail = f"{percent(share)} {called} (at most {percent(most)}; {count} of {total})"
    status = without if share is None else RulingStatus.FAIL if share > most else RulingStatus.OK
    detail += mostly if status is RulingStatus.FAIL else ""
    return _ruling(status, requirement, rule, detail, share=share, limit=most, count=count, total=total)


def _trigger(rule: Rule, judged: int, changed: int, confidence: float) -> Ruling:
    least = rule.limit.min_trigger_rate
    assert least is not None
    rate = changed / judged if judged else None
    interval = wilson(changed, judged, confidence)
    detail = f"changed {percent(rate)} of its modules (at least {percent(least)}; {changed} of {judged}, "
    detail += f"{percent(interval.low)} to {percent(interval.high)})"
    if rate is None:
        detail = f"no modules that show whether the pass changes at least {percent(least)} of them"
    status = RulingStatus.SHORT if rate is None else RulingStatus.FAIL if interval.high < least else RulingStatus.OK
    if status is RulingStatus.OK and rate is not None and rate < least:
        detail += "; too few modules to show that it is lower"
    return _ruling(
        status, Requirement.TRIGGER, rule, detail, rate=rate, limit=least, low=interval.low, high=interval.high,
        changed=changed, judged=judged, confidence=confidence,
    )  # fmt: skip
