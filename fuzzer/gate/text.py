"""The gate's verdict as lines, as an explanation, and as plain values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from fuzzer.core.text import counted, enumerated
from fuzzer.gate.limits import excused_of
from fuzzer.gate.regressions import SUMMARY
from fuzzer.gate.ruling import MOST, GateExit, Requirement, Ruling, RulingStatus, exit_of
from fuzzer.store.records import FindingRecord
from oracles.core.notes import deed

if TYPE_CHECKING:
    from fuzzer.gate.judge import GateResult
    from fuzzer.gate.policy import Rule

_FEW = 5
_WIDTH = 80
_COMPARED = (Requirement.REGRESSION, Requirement.COLLAPSE)
_IMPLIED = Requirement.CHECKS  # what the pass rate of the same subject says, too
_EXPLAINS = (Requirement.UNFINISHED, Requirement.CAMPAIGN)  # such as a baseline that cannot be compared
_NAMES = {
    GateExit.PASSED: "passed", GateExit.FAILED: "FAILED", GateExit.USAGE: "USAGE",
    GateExit.NO_EVIDENCE: "NOT ENOUGH EVIDENCE",
}  # fmt: skip


def render(result: GateResult) -> list[str]:
    """The few lines that decided, for people; the last one is the verdict."""
    failed = result.of(RulingStatus.FAIL)
    # Findings tell what is wrong; they come in numbers, which must not hide a rate, nor what may be their cause.
    notes = result.of(RulingStatus.NOTE)
    lines = [ruling.line for ruling in notes if ruling.subject == SUMMARY]  # nothing is compared
    lacking = result.lacking
    # What explains all others comes first.
    lines[:0] = [ruling.line for ruling in lacking if ruling.requirement in _EXPLAINS]
    apart = (Requirement.NOTES, Requirement.FINDING)
    noted, found = ([ruling for ruling in failed if ruling.requirement is each] for each in apart)
    lines += [*_cut(noted, MOST), *_cut(_one_of_each_family(result, found), MOST)]
    lines += _cut([ruling for ruling in failed if ruling.requirement not in apart], MOST)
    lines += _cut([ruling for ruling in lacking if ruling.requirement not in _EXPLAINS], MOST)
    if result.exit is GateExit.PASSED:
        lines += _held(result.of(RulingStatus.OK))
    elif any(ruling.requirement in _COMPARED for ruling in failed):
        lines += [ruling.line for ruling in result.of(RulingStatus.OK) if ruling.subject == SUMMARY]
    for status, what in (
        (RulingStatus.KNOWN, "known findings"),
        (RulingStatus.QUESTION, "questions"),
        (RulingStatus.SUSPECT, "suspects"),
    ):
        rulings = result.of(status)
        if len(rulings) <= _FEW:
            lines += [line for ruling in rulings for line in ruling.lines]
        else:
            count = sum(int(ruling.numbers["count"] or 0) for ruling in rulings)
            lines.append(f"{status:<5} {len(rulings)} {what} ({count} failures): --explain lists them")
    notes = [ruling for ruling in notes if ruling.subject != SUMMARY]
    said = (Requirement.CAMPAIGN, Requirement.NOTES)  # such as what to do
    lines += _cut([ruling for ruling in notes if ruling.requirement not in said], MOST)
    lines += [ruling.line for ruling in notes if ruling.requirement in said]
    return [*lines, verdict_line(result)]


def _one_of_each_family(result: GateResult, rulings: Sequence[Ruling]) -> list[Ruling]:
    """Keep the first finding of each family that triage determined, which names the others."""
    family = {each.id: name for name, members in result.by_family(result.findings.all).items() for each in members}
    groups: dict[str, list[Ruling]] = {}
    for ruling in rulings:
        groups.setdefault(family.get(ruling.finding, ruling.finding), []).append(ruling)
    return [replace(first, more=(*first.more, *_others(rest))) for first, *rest in groups.values()]


def _others(rulings: Sequence[Ruling]) -> list[str]:
    named = [ruling.finding for ruling in rulings[:MOST]] + ["..."] * (len(rulings) > MOST)
    return [f"and {len(rulings)} more of this family: {', '.join(named)}"] if rulings else []


def _held(rulings: Sequence[Ruling]) -> list[str]:
    """List what a pass rests on: the policy's own rules a line each, everything else counted."""
    rated = {ruling.subject for ruling in rulings if ruling.requirement is Requirement.PASS_RATE}
    own = [each for each in rulings if each.own and (each.requirement is not _IMPLIED or each.subject not in rated)]
    lines = _cut(own, 2 * MOST)
    others = sum(not ruling.own and ruling.requirement not in _COMPARED for ruling in rulings)
    told = f"{RulingStatus.OK:<5} met {counted(others, 'requirement')} that the policy sets for each oracle and pass"
    return [*lines, told] if others else lines


def _cut(rulings: Sequence[Ruling], most: int) -> list[str]:
    lines = [line for ruling in rulings[:most] for line in ruling.lines]
    if len(rulings) > most:
        lines.append(f"{rulings[most].status:<5} and {len(rulings) - most} more: --explain lists them")
    return lines


def verdict_line(result: GateResult) -> str:
    """The verdict in one line."""
    info, found = result.measured.info, result.findings
    asked = [counted(len(found.questions), "question")] if found.questions else []
    records = (*found.new, *found.noted)
    known = sum(record.id in result.recognized for record in records)
    which = [f"{len(found.noted)} noted"] if found.noted else []
    which += [f"{'all' if known == len(records) else known} known in relaxfuzz's corpus"] if known else []
    families = len(result.by_family(records))
    within = f" in {families} famil{'y' if families == 1 else 'ies'}" if families < len(records) else ""
    new = counted(len(records), "new finding") + within + (f" ({', '.join(which)})" if which else "")
    parts = [counted(result.total.checks, "check"), new, f"{len(found.known)} known"]
    told = ", ".join([*parts, *asked, counted(len(found.suspects), "suspect")])
    return f"gate {_NAMES[result.exit]}{_reasons(result)}: TVM {info.tvm_version}, {told}"


def _reasons(result: GateResult) -> str:
    """Name by its key in the policy what fails where no finding does, and what no contract covers."""
    notes = [each for each in result.rulings if each.requirement is Requirement.NOTES]
    failed = [] if result.findings.new else result.of(RulingStatus.FAIL)
    reasons = [*{each.requirement.value: None for each in failed if each.requirement is not Requirement.NOTES}]
    if notes:
        said = "; ".join(dict.fromkeys(filter(None, map(deed, (each.detail for each in notes)))))
        reasons.append(counted(len(notes), "note") + (f" (the pass {said})" if said else ""))
    return f"{' by' if failed else ', with'} {enumerated(reasons)}" if reasons else ""


def explain(result: GateResult) -> list[str]:
    """Every ruling with every number behind it, what decided first; the last line is the verdict."""
    info = result.measured.info
    counts = ((info.examples, "case"), (info.modules, "module"), (result.total.verdicts, "verdict"))
    cases = ", ".join(counted(*each) for each in counts)
    lines = [f"campaign: seed {info.seed}, {info.state}: {cases}"]
    if result.baseline is not None:
        base = result.baseline.info
        lines.append(f"baseline: seed {base.seed}, TVM {base.tvm_version}, {base.started_at}: {base.examples} cases")
    order = list(RulingStatus)
    silent = 0
    for ruling in sorted(result.rulings, key=lambda each: order.index(each.status)):
        least, level = ruling.numbers.get("least_p"), ruling.numbers.get("level")
        if least is not None and level is not None and least > level:  # not significant, whatever had come out
            silent += 1
            continue
        lines += ruling.lines
        if ruling.numbers:
            numbers = ", ".join(f"{name} {_number(value)}" for name, value in ruling.numbers.items())
            told = f"{ruling.requirement}: {numbers}"
            lines += wrap(told, _WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 10)
    if silent:
        lines.append(f"{counted(silent, 'comparison')} with the baseline could not be significant: --json lists them")
    return [*lines, verdict_line(result)]


def _number(value: float | int | None) -> str:
    return "unknown" if value is None else str(value) if isinstance(value, int) else f"{value:.6g}"


def as_json(result: GateResult) -> dict[str, Any]:
    """The result as plain values; ``exit`` is the exit code, ``verdict`` its name."""
    found = result.findings
    family = {seen.id: seen.family for seen in result.measured.seen}

    def finding_values(record: FindingRecord) -> dict[str, Any]:
        return {
            "id": record.id, "signature": record.signature, "family": family[record.id],
            "oracle": str(record.oracle), "pass": record.culprit, "message": record.message, "count": record.count,
            "state": str(record.state), "repro": record.repro, "note": record.note,
            **record.assessment.to_object(),
        }  # fmt: skip

    return {
        "exit": int(result.exit),
        "verdict": _verdict(result.exit),
        "tvm_version": result.measured.info.tvm_version,
        "total": _count(result.total.passed, result.total.failed, result.excused),
        "rules": [_rule(result, rule) for rule in result.rules],
        "rulings": [_ruling(ruling) for ruling in result.rulings],
        "new": [finding_values(record) for record in found.new],
        "noted": [finding_values(record) for record in found.noted],
        "in_baseline": [finding_values(record) for record in found.accepted],
        "known": [
            {**finding_values(record), "reference": entry.reference, "reason": entry.reason}
            for record, entry in found.known
        ],
        "questions": [finding_values(record) for record in found.questions],
        "suspects": [finding_values(record) for record in found.suspects],
        "invalid": result.total.invalid,
        "baseline": None if result.baseline is None else {
            "tvm_version": result.baseline.info.tvm_version, "seed": result.baseline.info.seed,
            "started_at": result.baseline.info.started_at, "examples": result.baseline.info.examples,
        },
    }  # fmt: skip


def _rule(result: GateResult, rule: Rule) -> dict[str, Any]:
    cell = result.measured.count(rule.subject)
    asked = {record.id for record in result.findings.questions}
    known = [seen for seen in result.measured.seen if result.known.find(*seen.names) or seen.id in asked]
    mine = [ruling for ruling in result.rulings if ruling.subject == rule.name and ruling.requirement not in _APART]
    return {
        "oracle": rule.oracle, "pass": rule.culprit, "min_pass_rate": rule.limit.min_pass_rate,
        "min_checks": rule.limit.min_checks, "verdict": _verdict(exit_of(mine)),
        **_count(cell.passed, cell.failed, excused_of(rule.subject, cell, known)),
    }  # fmt: skip


_APART = (
    Requirement.LOST, Requirement.FINDING, Requirement.ENTRY, Requirement.NOTES, Requirement.UNFINISHED,
    Requirement.CAMPAIGN, *_COMPARED,
)  # fmt: skip


def _verdict(code: GateExit) -> str:
    return code.name.lower().replace("_", " ")


def _count(passed: int, failed: int, excused: int) -> dict[str, Any]:
    checks, judged = passed + failed, passed + failed - excused
    return {
        "checks": checks, "passed": passed, "failed": failed, "excused": excused,
        "pass_rate": passed / judged if judged else None, "raw_pass_rate": passed / checks if checks else None,
    }  # fmt: skip


def _ruling(ruling: Ruling) -> dict[str, Any]:
    return {
        "word": ruling.status.value.lower(), "demand": ruling.requirement.value, "subject": ruling.subject,
        "told": ruling.told, "finding": ruling.finding or None, "numbers": dict(ruling.numbers),
    }  # fmt: skip
