"""A campaign for the summary of a step of GitHub Actions: the verdict, what decided, findings, oracles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fuzzer.core.text import WHAT_THEY_ARE, Standing, counted, shell, shorten
from fuzzer.gate.judge import GateExit, GateResult
from fuzzer.gate.text import render as gate_lines
from fuzzer.repro.markdown import escaped
from fuzzer.store.writer import FindingRecord
from reports.findings import Disposition, Dispositions, script_text, title_line
from reports.markdown import fenced, oracle_table, table
from reports.tables import Report, duration, reason_rows

MOST_BYTES = 900_000
"""GitHub takes 1 MiB from a step and shows nothing of what is longer."""
_FINDINGS = 50
_SCRIPTS = 10
_SCRIPT_BYTES = 20_000
_REASONS = 8
_MESSAGE = 160
_MARKS = {GateExit.PASSED: "✅", GateExit.FAILED: "❌", GateExit.NO_EVIDENCE: "⚠️", GateExit.USAGE: "⚠️"}


def render_step_summary(report: Report, result: GateResult | None = None) -> str:
    """Write Markdown; ``result`` is the gate's.  Scripts are left out where the whole would be too long."""
    dispositions = Dispositions.under(result)
    lines = [*_head(report, result), *_findings(report, dispositions), *_oracles(report), ""]
    size = _size(lines)
    for block in _scripts(report, dispositions):
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
    seeds = f"seed{'s' * bool(info.seeds)} {', '.join(map(str, info.seeds or (info.seed,)))}"
    tested = f"{counted(info.examples, 'case')} on {counted(info.modules, 'module')}"
    took = f"in {duration(info.elapsed_seconds)}; {escaped(info.state)}."
    yield from ("", f"TVM {escaped(info.tvm_version)}, {seeds}: {tested} {took}", "")
    if report.blind:
        yield from (f"{escaped(report.blind)}.", "")
    if result is not None:
        # The reader runs these on another machine, where the path of this interpreter means nothing.
        lines = "\n".join(gate_lines(result)).replace(f"`{shell('python')} ", "`python ")
        yield from (*fenced(lines, "text"), "")


def _findings(report: Report, dispositions: Dispositions) -> list[str]:
    groups = {each: [found for found in report.findings if dispositions.of(found) is each] for each in Disposition}
    parts = {Standing.QUESTION: groups.pop(Disposition.QUESTION), Standing.SUSPECT: groups.pop(Disposition.SUSPECT)}
    counts = ", ".join(f"{len(found)} {_NAMES[each]}" for each, found in groups.items() if found)
    head = f"### {counted(sum(map(len, groups.values())), 'finding')}" + (f": {counts}" if counts else "")
    head += "".join(f"; {counted(len(found), each.value)}" for each, found in parts.items() if found)
    lines = [head, "", *_table([(_NAMES[each], found) for each in _SHOWN for found in groups[each]])]
    for standing, found in parts.items():
        if found:
            said = WHAT_THEY_ARE[standing]
            lines += [f"#### {standing.value.capitalize()}s", "", f"{said[0].upper()}{said[1:]}.", ""]
            lines += _table([(str(each.state), each) for each in found])
    return lines


_NAMES = {Disposition.FAILS: "open", Disposition.NOTED: "noted", Disposition.KNOWN: "known"}
_SHOWN = (Disposition.FAILS, Disposition.NOTED)


def _table(findings: Sequence[tuple[str, FindingRecord]]) -> list[str]:
    """List findings, each with its disposition or state."""
    if not findings:
        return []
    rows = [
        (word, each.assessment.grade, each.oracle, each.culprit, shorten(title, _MESSAGE), each.count, each.id)
        for word, each in findings[:_FINDINGS]
        for title in [title_line(each)]
    ]
    lines = [*table(("", "severity", "oracle", "pass", "what", "count", "id"), rows, "lllllrl"), ""]
    return lines + ([f"And {len(findings) - _FINDINGS} more.", ""] if len(findings) > _FINDINGS else [])


def _oracles(report: Report) -> list[str]:
    lines = ["<details><summary>Oracles</summary>", "", *oracle_table(report), ""]
    if reasons := reason_rows(report.tallies, _REASONS):
        lines += [*table(("oracle", "outcome", "reason", "count"), reasons, "lllr"), ""]
    return [*lines, "</details>"]


def _scripts(report: Report, dispositions: Dispositions) -> Iterator[list[str]]:
    shown = 0
    for finding in report.findings:
        script = script_text(report.directory, finding.repro)
        if shown == _SCRIPTS or not dispositions.fails(finding) or script is None or len(script) > _SCRIPT_BYTES:
            continue
        shown += 1
        title = f"Script of {finding.id}: {escaped(finding.oracle)}, {escaped(finding.culprit)}"
        yield [f"<details><summary>{title}</summary>", "", *fenced(script, "python"), "", "</details>", ""]
