"""Workflow annotations of GitHub Actions: commands on the standard output that the runner shows beside the log.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands; the runner takes ten of each kind
from a step, so what decided comes first and the last one says how many are left out.
"""

from __future__ import annotations

from collections.abc import Iterable

from fuzzer.core.text import disarmed, shorten, visible
from fuzzer.gate.judge import GateExit, GateResult
from fuzzer.gate.ruling import Requirement, Ruling, RulingStatus
from fuzzer.gate.text import verdict_line
from reports.findings import Disposition, Dispositions, blame_line, title_line, users_line
from reports.tables import Report

MOST = 10
"""Annotations of one kind that the runner takes from one step."""
_TITLE, _MESSAGE = 250, 4_000
"""Characters that GitHub shows of each."""
_CODES = {GateExit.PASSED: "notice", GateExit.FAILED: "error", GateExit.NO_EVIDENCE: "warning"}
_OF = {Disposition.FAILS: "error", Disposition.QUESTION: "notice"}
_Row = tuple[str, str, tuple[str, int] | None]  # title, message, file and line


def render_annotations(report: Report, result: GateResult | None = None) -> str:
    """Write the commands, a line each; ``result`` is the gate's, whose deciding lines are annotated, too."""
    dispositions = Dispositions.under(result)
    rows: dict[str, list[_Row]] = {"error": [], "warning": [], "notice": []}
    if result is not None:
        rows[_CODES[result.exit]].append(("relaxfuzz gate", verdict_line(result), None))
        failed = [each for each in result.of(RulingStatus.FAIL) if each.requirement is not Requirement.FINDING]
        rows["error"] += _decided(failed)
    for finding in report.findings:
        message = f"{title_line(finding)}{finding.times}" + (f"; script: {finding.repro}" if finding.repro else "")
        blame = f"; {told}" if (told := blame_line(finding)) else ""
        title = f"relaxfuzz: {finding.assessment.grade} {finding.oracle} {finding.culprit} {finding.id}"
        if (disposition := dispositions.of(finding)) is not Disposition.KNOWN:
            rows[_OF.get(disposition, "warning")].append((title, message + blame, users_line(finding)))
    rows["warning"] += _decided([] if result is None else result.lacking)
    return "".join(f"{command(kind, *row)}\n" for kind, each in rows.items() for row in _first(each))


def _decided(rulings: Iterable[Ruling]) -> list[_Row]:
    return [(f"relaxfuzz gate: {each.subject}", each.told, None) for each in rulings]


def _first(rows: list[_Row]) -> list[_Row]:
    more = ("relaxfuzz", f"and {len(rows) - MOST + 1} more in the report", None)
    return rows if len(rows) <= MOST else [*rows[: MOST - 1], more]


def command(kind: str, title: str, message: str, place: tuple[str, int] | None = None) -> str:
    """Write one annotation; foreign text cannot end it, nor begin another."""
    at = "" if place is None else f"file={_escaped(place[0], '%:,')},line={place[1]},"
    return f"::{kind} {at}title={_escaped(shorten(title, _TITLE), '%:,')}::{_escaped(shorten(message, _MESSAGE), '%')}"


def _escaped(text: str, letters: Iterable[str]) -> str:
    flat = visible(text)
    # The percent sign first: it begins what the others become.
    for letter in (*letters, "\r", "\n"):
        flat = flat.replace(letter, f"%{ord(letter):02X}")
    return disarmed(flat)  # of runners that read commands wherever they stand
