"""What the policy demands of an oracle, a pass, or the campaign, held against what was counted.

Rates of the compiler are estimates, so they are judged by Wilson's interval: a pass rate must be *shown*, by the
interval's lower end, and a trigger rate fails when it is shown to be too low, by the upper end.  Shares of skips,
rejects and undecidable comparisons are no estimates: they say how much of this very campaign is without judgement, so
they are compared as they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fuzzer.counting import counted
from fuzzer.gating.measured import Cell, Measured, Seen, Subject
from fuzzer.gating.proportions import needed_without_failure, wilson
from fuzzer.gating.rules import Rule
from fuzzer.gating.ruling import Demand, Ruling, Word, percent
from fuzzer.plaintext import shorten
from oracles.verdict import UNDECIDABLE, Outcome

_REASONS = 2
_WIDTH = 60


def apply(rule: Rule, measured: Measured, excused: Iterable[Seen], confidence: float) -> list[Ruling]:
    """Everything that one rule demands.

    Args:
        rule: The rule.
        measured: The campaign.
        excused: The findings that are known.
        confidence: Of Wilson's interval.
    """
    cell = measured.count(rule.subject)
    rulings = [_checks(rule, cell)]
    if rule.limit.min_pass_rate is not None:
        rulings.append(_pass_rate(rule, cell, excused_of(rule.subject, cell, excused), confidence))
    shares = (_share(rule, measured, cell, *row) for row in _SHARES)
    rulings += [ruling for ruling in shares if ruling is not None]
    if rule.limit.min_trigger_rate is not None:
        rulings.append(_trigger(rule, *measured.trigger(rule.subject), confidence))
    return rulings


def excused_of(subject: Subject, cell: Cell, excused: Iterable[Seen]) -> int:
    """Failures of known findings within a subject; never more than the failures that were counted."""
    return min(cell.failed, sum(each.count for each in excused if subject.holds(each.oracle, each.culprit)))


def _ruling(word: Word, demand: Demand, rule: Rule, told: str, **numbers: float | int | None) -> Ruling:
    return Ruling(word, demand, rule.name, told, numbers, rule.own)


def _checks(rule: Rule, cell: Cell) -> Ruling:
    least = rule.limit.min_checks
    word = Word.OK if cell.checks >= least else Word.SHORT
    told = f"{counted(cell.checks, 'check')} (at least {least})"
    if not cell.checks:
        told += f"; of {counted(cell.verdicts, 'verdict')} {cell.skipped} are skips, {cell.rejected} rejects"
    return _ruling(word, Demand.CHECKS, rule, told, checks=cell.checks, limit=least, verdicts=cell.verdicts)


def _pass_rate(rule: Rule, cell: Cell, excused: int, confidence: float) -> Ruling:
    least = rule.limit.min_pass_rate
    assert least is not None
    judged = cell.checks - excused
    rate = cell.passed / judged if judged else None
    interval = wilson(cell.passed, judged, confidence)
    told = f"pass rate {percent(rate)} (at least {percent(least)}; {cell.passed} of {judged}"
    told += f", {percent(interval.low)} to {percent(interval.high)})"
    if rate is None:
        word = Word.SHORT
    elif rate < least:
        # More checks may mend it, but nothing says that they will.
        word = Word.FAIL
    elif least == 1.0 or interval.low >= least:
        # No number of passes shows that a rate is exactly 1, so 1 demands that no check failed; how many there must
        # be is for min_checks to say.
        word = Word.OK
    else:
        word = Word.SHORT
        if cell.passed == judged:
            told += f"; {needed_without_failure(least, confidence)} passes without a failure would show it"
        else:
            told += "; more checks at this rate would show it" if rate > least else "; the rate is on the limit"
    if excused:
        raw = cell.passed / cell.checks
        told += f"; {percent(raw)} with {counted(excused, 'failure')} of known findings"
    return _ruling(
        word, Demand.PASS_RATE, rule, told, rate=rate, limit=least, low=interval.low, high=interval.high,
        passed=cell.passed, failed=cell.failed, excused=excused, judged=judged, confidence=confidence,
    )  # fmt: skip


_Counter = Callable[[Cell], int]
# Demand, what is counted, out of what, how it is called, whose reasons are named.
_SHARES: Sequence[tuple[Demand, _Counter, _Counter, str, Outcome, str]] = (
    (Demand.SKIPS, lambda cell: cell.skipped, lambda cell: cell.verdicts, "skipped", Outcome.SKIP, ""),
    (Demand.REJECTS, lambda cell: cell.rejected, lambda cell: cell.verdicts, "rejected", Outcome.REJECT, ""),
    (
        Demand.UNDECIDABLE, lambda cell: cell.undecidable, lambda cell: cell.undecidable + cell.checks, "undecidable",
        Outcome.SKIP, UNDECIDABLE,
    ),
    (Demand.INVALID, lambda cell: cell.invalid, lambda cell: cell.verdicts, "invalid", Outcome.INVALID, ""),
)  # fmt: skip


def _share(
    rule: Rule, measured: Measured, cell: Cell, demand: Demand, part: _Counter, whole: _Counter, called: str,
    outcome: Outcome, beginning: str,
) -> Ruling | None:  # fmt: skip
    most = getattr(rule.limit, demand.value)
    if most is None:
        return None
    count, total = part(cell), whole(cell)
    share = count / total if total else None
    told = f"{percent(share)} {called} (at most {percent(most)}; {count} of {total})"
    if share is not None and share > most:
        reasons = measured.reasons(rule.subject, outcome, beginning)[:_REASONS]
        told += ", mostly " + ", ".join(f"{number} x {shorten(why, _WIDTH)}" for why, number in reasons)
    # Nothing said is no evidence that little is skipped, but that is for min_checks to find.
    word = Word.FAIL if share is not None and share > most else Word.OK
    return _ruling(word, demand, rule, told, share=share, limit=most, count=count, total=total)


def _trigger(rule: Rule, judged: int, changed: int, confidence: float) -> Ruling:
    least = rule.limit.min_trigger_rate
    assert least is not None
    rate = changed / judged if judged else None
    interval = wilson(changed, judged, confidence)
    told = f"changed {percent(rate)} of its modules (at least {percent(least)}; {changed} of {judged}, "
    told += f"{percent(interval.low)} to {percent(interval.high)})"
    word = Word.SHORT if rate is None else Word.FAIL if interval.high < least else Word.OK
    if word is Word.OK and rate is not None and rate < least:
        told += "; too few modules to say that it is less"
    return _ruling(
        word, Demand.TRIGGER, rule, told, rate=rate, limit=least, low=interval.low, high=interval.high, changed=changed,
        judged=judged, confidence=confidence,
    )  # fmt: skip
