"""Workflow annotations of GitHub Actions: commands on the standard output that the runner shows beside the log.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands; the runner takes ten of each kind
from a step, so what decided comes first and the last one says how many are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fuzzer.core.text import shorten, visible
from fuzzer.gate.judge import GateExit, GateResult
from fuzzer.gate.ruling import Requirement, RulingStatus
from fuzzer.gate.text import verdict_line
from reports.findings import Disposition, Dispositions, blame_line, title_line
from reports.tables import Report

MOST = 10
"""Annotations of one kind that the runner takes from one step."""
_TITLE, _MESSAGE = 250, 4_000
"""Characters that GitHub shows of each."""
_CODES = {GateExit.PASSED: "notice", GateExit.FAILED: "error", GateExit.NO_EVIDENCE: "error", GateExit.USAGE: "error"}
_Row = tuple[str, str]  # title, message


def render_annotations(report: Report, result: GateResult | None = None) -> str:
    """Write the commands, a line each; ``result`` is the gate's, whose deciding lines are annotated, too."""
    dispositions = Dispositions.under(result)
    errors: list[_Row] = []
    warnings: list[_Row] = []
    notices: list[_Row] = []
    if result is not None:
        kind = {"error": errors, "notice": notices}[_CODES[result.exit]]
        kind.append(("relaxfuzz gate", verdict_line(result)))
        decided = [
            each
            for each in result.of(RulingStatus.FAIL, RulingStatus.SHORT)
            if each.requirement is not Requirement.FINDING
        ]
        errors += [(f"relaxfuzz gate: {each.subject}", each.detail) for each in decided]
    for finding in report.findings:
        message = f"{title_line(finding)} ({finding.count}x)" + (f"; script: {finding.repro}" if finding.repro else "")
        blame = f"; {told}" if (told := blame_line(finding)) else ""
        title = f"relaxfuzz: {finding.assessment.severity} {finding.oracle} {finding.culprit} {finding.id}"
        row = (title, message + blame)
        disposition = dispositions.of(finding)
        if disposition is Disposition.FAILS:
            errors.append(row)
        elif disposition is Disposition.QUESTION:
            notices.append(row)
        elif disposition is not Disposition.KNOWN:
            warnings.append(row)
    lines = [
        command(kind, *row)
        for kind, rows in (("error", errors), ("warning", warnings), ("notice", notices))
        for row in _first(rows)
    ]
    return "".join(f"{line}\n" for line in lines)


def _first(rows: list[_Row]) -> Iterator[_Row]:
    if len(rows) <= MOST:
        yield from rows
        return
    yield from rows[: MOST - 1]
    yield "relaxfuzz", f"and {len(rows) - MOST + 1} more in the report"


def command(kind: str, title: str, message: str) -> str:
    """Write one annotation; foreign text cannot end it, nor begin another."""
    return f"::{kind} title={_escaped(shorten(title, _TITLE), '%:,')}::{_escaped(shorten(message, _MESSAGE), '%')}"


def _escaped(text: str, letters: Iterable[str]) -> str:
    flat = visible(text)
    # The percent sign first: it begins what the others become.
    for letter in (*letters, "\r", "\n"):
        flat = flat.replace(letter, f"%{ord(letter):02X}")
    return flat
