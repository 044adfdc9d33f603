"""A campaign for the summary of a step of GitHub Actions: the verdict, what decided, findings, oracles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fuzzer.counting import SUSPECTS_ARE, counted
from fuzzer.gate import GateExit, GateResult
from fuzzer.gating.text import render as gate_lines
from fuzzer.plaintext import first_line, shorten
from fuzzer.store import FindingRecord
from reports.markdown import cell, fenced, table
from reports.scripts import script_text
from reports.standing import Standing, Standings, standings
from reports.tables import Report, duration, oracle_rows, percent, reason_rows

MOST_BYTES = 900_000
"""GitHub takes 1 MiB from a step and shows nothing of what is longer."""
_FINDINGS = 50
_SCRIPTS = 10
_SCRIPT_BYTES = 20_000
_REASONS = 8
_MESSAGE = 160
_MARKS = {GateExit.PASSED: "✅", GateExit.FAILED: "❌", GateExit.NO_EVIDENCE: "⚠️", GateExit.USAGE: "⚠️"}


def render_step_summary(report: Report, result: GateResult | None = None) -> str:
    """Markdown; ``result`` is the gate's.  Scripts are left out where the whole would be too long."""
    standing = standings(result)
    lines = [*_head(report, result), *_findings(report, standing), *_oracles(report), ""]
    size = _size(lines)
    for block in _scripts(report, standing):
        size += _size(block)
        if size > MOST_BYTES:
            lines += ["More scripts are in the artifact.", ""]
            break
        lines += block
    return "\n".join(lines)


def _size(lines: Sequence[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _head(report: Report, result: GateResult | None) -> Iterator[str]:
    info = report.info
    if result is None:
        yield "## relaxfuzz"
    else:
        word = {GateExit.PASSED: "passed", GateExit.FAILED: "failed", GateExit.NO_EVIDENCE: "not enough evidence"}
        yield f"## {_MARKS[result.exit]} relaxfuzz gate: {word.get(result.exit, 'no verdict')}"
    yield ""
    yield (
        f"TVM {cell(info.tvm_version)}, seed {info.seed}: {counted(info.examples, 'case')} on "
        f"{counted(info.modules, 'module')} in {duration(info.elapsed_seconds)}; {cell(info.state)}."
    )
    yield ""
    if result is not None:
        yield from fenced("\n".join(gate_lines(result)), "text")
        yield ""


def _findings(report: Report, standing: Standings) -> list[str]:
    seen = {stands: [each for each in report.findings if standing.of(each) is stands] for stands in Standing}
    suspects = seen.pop(Standing.SUSPECT)
    told = ", ".join(f"{len(found)} {_NAMES[stands]}" for stands, found in seen.items() if found)
    head = f"### {counted(sum(map(len, seen.values())), 'finding')}" + (f": {told}" if told else "")
    head += f"; {counted(len(suspects), 'suspect')}" if suspects else ""
    lines = [head, "", *_table([(_NAMES[stands], each) for stands in _SHOWN for each in seen[stands]])]
    if suspects:
        lines += ["#### Suspects", "", f"{SUSPECTS_ARE.capitalize()}.", ""]
        lines += _table([(each.state.value, each) for each in suspects])
    return lines


_NAMES = {Standing.FAILS: "open", Standing.NOTED: "noted", Standing.KNOWN: "known"}
_SHOWN = (Standing.FAILS, Standing.NOTED)


def _table(findings: Sequence[tuple[str, FindingRecord]]) -> list[str]:
    """Findings, each with a word on it."""
    if not findings:
        return []
    rows = [
        (word, each.oracle, each.culprit, shorten(first_line(each.message, each.kind), _MESSAGE), each.count, each.id)
        for word, each in findings[:_FINDINGS]
    ]
    lines = [*table(("", "oracle", "pass", "what", "count", "id"), rows, "llllrl"), ""]
    return lines + ([f"And {len(findings) - _FINDINGS} more.", ""] if len(findings) > _FINDINGS else [])


def _oracles(report: Report) -> list[str]:
    rows = [
        (row.name, row.passed, row.failed, percent(row.rate), row.skipped, row.rejected, row.invalid)
        for row in oracle_rows(report.tallies)
    ]
    headers = ("oracle", "pass", "fail", "pass rate", "skip", "reject", "invalid")
    lines = ["<details><summary>Oracles</summary>", "", *table(headers, rows, "lrrrrrr"), ""]
    reasons = reason_rows(report.tallies, _REASONS)
    if reasons:
        told = [(row.oracle, str(row.outcome), row.reason, row.count) for row in reasons]
        lines += [*table(("oracle", "outcome", "why nothing was judged", "count"), told, "lllr"), ""]
    return [*lines, "</details>"]


def _scripts(report: Report, standing: Standings) -> Iterator[list[str]]:
    shown = 0
    for finding in report.findings:
        script = script_text(report.directory, finding.repro)
        if shown == _SCRIPTS or standing.of(finding) is not Standing.FAILS or script is None:
            continue
        if len(script) > _SCRIPT_BYTES:
            continue
        shown += 1
        yield [f"<details><summary>{_title(finding)}</summary>", "", *fenced(script, "python"), "", "</details>", ""]


def _title(finding: FindingRecord) -> str:
    return f"Script of {finding.id}: {cell(finding.oracle)}, {cell(finding.culprit)}"
