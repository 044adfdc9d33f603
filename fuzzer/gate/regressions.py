"""A campaign held against a baseline: did failures become more frequent, or did passes cease to act?

Each oracle, each pass, and each oracle on each pass is a comparison of two rates by Fisher's exact test, and so is how
often each pass acts.  These are hundreds, so each is held to a level at which the chance of *any* false alarm stays
below ``false_alarms``.  Failures of findings that are known now are left out on both sides: an entry that was
added since is no improvement, one that was removed no regression.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from fuzzer.core.text import counted, enumerated
from fuzzer.gate.measured import Cell, GateSubject, MeasuredCampaign, SeenFinding
from fuzzer.gate.policy import Comparing
from fuzzer.gate.ruling import Requirement, Ruling, RulingStatus, percent
from fuzzer.gate.statistics import Table, significance_each

T = TypeVar("T", int, Cell)
SUMMARY = "baseline"
"""GateSubject of the ruling that says how many comparisons there were."""
EXPECTED = 10
"""So many checks must be expected before their absence says something: were it chance, it would be one in 20,000."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two rates.

    Attributes:
        demand: ``REGRESSION`` or ``COLLAPSE``.
        subject: Of what.
        table: What became more frequent, or not: failures, or modules that a pass left as they were.
    """

    requirement: Requirement
    subject: GateSubject
    table: Table


def compare(
    now: MeasuredCampaign,
    before: MeasuredCampaign,
    known: Callable[[SeenFinding], bool],
    settings: Comparing,
    wanted: Callable[[GateSubject], bool] = lambda _: True,
) -> list[Ruling]:
    """Every comparison, the most significant first; failures that are ``known`` are left out."""
    every = [*_rates(now, before, known, wanted), *_triggers(now, before, wanted)]
    level = significance_each([each.table for each in every], settings.false_alarms)
    judged = sorted(((each.table.p_value(), each) for each in every), key=lambda pair: (pair[0], pair[1].subject.name))
    rulings = [_ruling(each, p_value, level, settings) for p_value, each in judged]
    deciding = sum(each.table.least_p_value() <= level for each in every)
    detail = (
        f"{counted(deciding, 'comparison')} had enough data to detect a change (significance level {_power(level)})"
    )
    numbers = {"comparisons": len(every), "deciding": deciding, "level": level, "false_alarms": settings.false_alarms}
    summary = Ruling(RulingStatus.OK, Requirement.REGRESSION, SUMMARY, detail, numbers, own=False)
    return [*_lost(now, before, wanted), summary, *rulings]


def _rates(
    now: MeasuredCampaign,
    before: MeasuredCampaign,
    known: Callable[[SeenFinding], bool],
    wanted: Callable[[GateSubject], bool],
) -> Iterator[Comparison]:
    excused, base_excused = (
        _by_subject([((each.oracle, each.culprit), each.count) for each in side.seen if known(each)], 0)
        for side in (now, before)
    )
    base_cells, cells = (_by_subject(side.cells.items(), Cell()) for side in (before, now))
    parts = _by_subject([(key, 1) for key in now.cells], 0)
    for subject, cell in cells.items():
        base = base_cells.get(subject)
        one = subject.oracle is None or subject.culprit is None  # made of one cell, it would be compared twice
        if base is None or not wanted(subject) or (one and parts[subject] == 1):
            continue
        out = min(cell.failed, excused.get(subject, 0))
        base_out = min(base.failed, base_excused.get(subject, 0))
        table = Table(cell.failed - out, cell.checks - out, base.failed - base_out, base.checks - base_out)
        if table.total and table.base_total:
            yield Comparison(Requirement.REGRESSION, subject, table)


def _by_subject(counts: Iterable[tuple[tuple[str, str], T]], nothing: T) -> dict[GateSubject, T]:
    """Sum up by oracle, by pass, and by both what is counted of oracles on passes."""
    found: dict[GateSubject, T] = {}
    for (oracle, culprit), count in counts:
        for subject in (GateSubject(oracle, None), GateSubject(None, culprit), GateSubject(oracle, culprit)):
            found[subject] = found.get(subject, nothing) + count
    return found


def _triggers(
    now: MeasuredCampaign, before: MeasuredCampaign, wanted: Callable[[GateSubject], bool]
) -> Iterator[Comparison]:
    for name, (judged, changed) in now.triggers.items():
        base_judged, base_changed = before.triggers.get(name, (0, 0))
        subject = GateSubject(None, name)
        if judged and base_judged and wanted(subject):
            table = Table(judged - changed, judged, base_judged - base_changed, base_judged)
            yield Comparison(Requirement.COLLAPSE, subject, table)


def _ruling(each: Comparison, p_value: float, level: float, settings: Comparing) -> Ruling:
    table = each.table
    rate, base = 1 - table.hits / table.total, 1 - table.base_hits / table.base_total
    significant = p_value <= level
    if each.requirement is Requirement.COLLAPSE:
        worse = rate < settings.trigger_collapse * base
        detail = f"changed {percent(rate)} of its modules, {percent(base)} in the baseline"
        limit = settings.trigger_collapse
    else:
        worse = rate < base and base - rate >= settings.least_drop
        detail = f"pass rate {percent(rate)}, {percent(base)} in the baseline"
        limit = settings.least_drop
    passed, base_passed = table.total - table.hits, table.base_total - table.base_hits
    detail += f" ({passed} of {table.total}, {base_passed} of {table.base_total}; p = {_power(p_value)})"
    return Ruling(
        RulingStatus.FAIL if worse and significant else RulingStatus.OK, each.requirement, each.subject.name, detail,
        {
            "rate": rate, "baseline_rate": base, "p": p_value, "level": level,
            "least_p": table.least_p_value(),
            "hits": table.hits, "total": table.total, "baseline_hits": table.base_hits,
            "baseline_total": table.base_total, "limit": limit,
        }, own=False,
    )  # fmt: skip


def _lost(now: MeasuredCampaign, before: MeasuredCampaign, wanted: Callable[[GateSubject], bool]) -> Iterator[Ruling]:
    """Oracles and passes under test that the baseline judged and this campaign did not judge at all."""
    share = now.info.examples / before.info.examples if before.info.examples else 0.0
    here, there = (_by_subject(side.cells.items(), Cell()) for side in (now, before))
    subjects = [GateSubject(name, None) for name in now.info.oracles]
    for subject in subjects + [GateSubject(None, name) for name in now.info.passes]:
        checks, base = here.get(subject, Cell()).checks, there.get(subject, Cell()).checks
        expected = math.floor(base * share)
        if checks or expected < EXPECTED or not wanted(subject):
            continue
        detail = f"no checks at all; about {expected} were expected from the baseline's {base}"
        numbers = {"checks": checks, "baseline_checks": base, "expected": expected}
        yield Ruling(RulingStatus.SHORT, Requirement.LOST, subject.name, detail, numbers, own=False)


def _power(value: float) -> str:
    return f"{value:.1e}" if value < 0.001 else f"{value:.3f}"


_OLD = "of an unknown version"
_SIDES = "the campaign", "the baseline"
_MOST = 5


def _some(names: list[str]) -> str:
    """Enumerate names, of many the first few."""
    few = names if len(names) <= _MOST + 1 else [*names[:_MOST], f"{len(names) - _MOST} others"]
    return enumerated(few)


def differences(now: MeasuredCampaign, before: MeasuredCampaign) -> list[str]:
    """List what makes the two less comparable, one line each."""
    lines = []
    for name, here, there in (
        ("TVM", now.info.tvm_version, before.info.tvm_version),
        ("relaxfuzz", now.info.relaxfuzz_version, before.info.relaxfuzz_version),
    ):
        if here != there:
            why = "" if name == "TVM" else ": versions may generate different modules, so create the baseline again"
            lines.append(f"the baseline was made with {name} {there or _OLD}, the campaign with {here or _OLD}{why}")
    for what, mine, theirs in (
        ("tested", now.info.passes, before.info.passes),
        ("used as oracles", now.info.oracles, before.info.oracles),
    ):
        for names, here, there in ((set(mine) - set(theirs), *_SIDES), (set(theirs) - set(mine), *_SIDES[::-1])):
            if names:
                verb = "was" if len(names) == 1 else "were"
                lines.append(f"{_some(sorted(names))} {verb} {what} in {here} but not in {there}")
    if now.info.examples * 2 < before.info.examples:
        lines.append(
            f"the campaign has {counted(now.info.examples, 'case')} and the baseline {before.info.examples}: "
            "a small campaign detects only large regressions"
        )
    return lines
