"""Findings as the page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fuzzer.core.text import Standing
from fuzzer.findings.file import Decisions
from fuzzer.findings.signature import readable
from fuzzer.repro.markdown import bug_report, told_frames
from fuzzer.store.known import reported
from relaxkit.passes.contract import OracleName
from reports.findings import Disposition, Dispositions, passes_text, script_text, shown_lines, title_line
from reports.tables import Report

_LONGEST = 20_000
"""Characters of a message or a difference that are shown."""


class LineTable:
    """Texts as lists of numbers of lines: scripts share most of theirs, so that a page of hundreds stays small."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def table(self) -> list[str]:
        """The distinct lines."""
        return [*self._numbers]

    def add(self, text: str) -> list[int]:
        """Return the numbers of the lines of ``text``, which joined by line ends give it back."""
        return [self._numbers.setdefault(line, len(self._numbers)) for line in text.split("\n")]


def finding_rows(
    report: Report, modules: Mapping[str, str], dispositions: Dispositions, decisions: Decisions, lines: LineTable
) -> list[dict[str, Any]]:
    """Return one object a finding, in the report's order.

    Args:
        report: The campaign.
        modules: Modules as text, by id.
        dispositions: What each means, under the policy if there is one.
        decisions: What people decided on families.
        lines: Takes the lines of modules and scripts.
    """
    rows = []
    for finding in report.findings:
        module, script = modules.get(finding.id, ""), script_text(report.directory, finding.repro)
        disposition, parts, failure = dispositions.of(finding), finding.parts, finding.failure
        family = decisions.place(finding.id, finding.family, finding.former)
        near = None if parts is None else parts.near
        cost, known = report.costs.get(finding.id), report.recognized.get(finding.id)
        if disposition is Disposition.FAILS and dispositions.policy is None and known is not None and known.listed:
            disposition = Disposition.KNOWN
        if script is not None and parts is not None and parts.module and not parts.python:
            module = _cut(shown_lines(parts.module))  # a script may show another one than was minimized
        said = readable(finding.message or finding.kind)
        rows.append({
            "id": finding.id,
            "oracle": str(finding.oracle),
            "pass": finding.culprit,
            "kind": finding.kind,
            "state": finding.state.value,
            "stands": disposition.value,
            "standing": _standing(disposition).value,
            "severity": finding.assessment.severity.value,
            "gravity": finding.assessment.severity.words(failure),
            "final": finding.assessment.final,
            "class": finding.assessment.evidence.words,
            "blame": finding.assessment.blame,
            "why": finding.assessment.why,
            "excuse": "" if disposition is Disposition.FAILS else dispositions.excuses.get(finding.id, ""),
            "count": finding.count,
            "line": title_line(finding),
            "message": _cut(parts.words.observed if parts else said),
            "said": finding.message[:2000] if failure.oracle in (OracleName.CRASH, OracleName.WELL_FORMED) else "",
            "signature": readable(finding.signature),
            "family": [family.id, family.text, "" if family.decision is None else family.decision.reason],
            "first": round(finding.first_seen_seconds, 1),
            "last": round(finding.last_seen_seconds, 1),
            "bindings": finding.bindings,
            "note": finding.note,
            "known": None if known is None else {**known.to_object(), "line": known.line},
            "reported": reported(finding, report.recognized),
            "others": finding.others,
            "issue": None if script is None or parts is None else lines.add(
                bug_report(
                    finding, failure, report.info, script, parts, finding.bisected, known, report.directory,
                )
            ),
            "releases": "" if finding.bisected is None else finding.bisected.judgement,
            "expected": _cut(finding.evidence.expected if parts is None else parts.words.expected),
            "observed": _cut(finding.evidence.observed) if parts is None else "",
            "frames": list(told_frames(failure.shown)),
            "passes": passes_text(finding),
            "minimized": finding.is_minimized,
            "reduced": finding.is_reduced,
            "module": lines.add(module) if module else None,
            "change": "" if parts is None else parts.change,
            "neighbour": None if script is None or near is None else [near.what, near.diff()],
            "repro": finding.repro,
            "script": None if script is None else lines.add(script),
            "cost": None if cost is None else [round(cost.judging, 1), round(cost.triage, 1)],
            "seen": [[at, count] for at, count in report.timeline.sightings.get(finding.id, ())],
        })  # fmt: skip
    return rows


def _standing(disposition: Disposition) -> Standing:
    """Return the part of a list that a finding is in: what a policy makes a finding of is one."""
    values = {each.value for each in Standing}
    return Standing(disposition.value) if disposition.value in values else Standing.FINDING


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n[{len(text) - _LONGEST} more characters]"
