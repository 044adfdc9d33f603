"""A campaign's report as JUnit XML: one suite an oracle, one case a pass; and one suite of what decided in the gate.

A case fails when a finding of that oracle and pass is open; its failure names signature and count and carries the
script, so that it can be run from where the report is read.  Known findings and suspects are written out but do not
fail, as in the gate; what is known a policy says, where there is one.  A case without any check is skipped, with the
most frequent reason.  How many verdicts there were of each kind stands in the properties: a JUnit case is a pass, not a
verdict.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import replace

from fuzzer.core.text import disarmed, shorten, visible
from fuzzer.findings.signature import readable
from fuzzer.gate.judge import GateResult
from fuzzer.gate.ruling import RulingStatus
from fuzzer.store.writer import FindingRecord, Tally
from oracles.core.verdict import Outcome
from reports.findings import Dispositions, blame_line, script_text, title_line
from reports.tables import OracleRow, Report, grouped, oracle_rows, pass_rows, reason_rows

_MOST_TEXT = 1 << 20
_COUNTS = {"tests": ".", "failures": "failure", "skipped": "skipped", "errors": "error"}


def render_junit(report: Report, result: GateResult | None = None) -> str:
    """Write the XML document; ``result`` is the gate's, which knows what is known."""
    dispositions = Dispositions.under(result)
    # A finding that only minimization met was never counted, and has a case all the same.
    met = (Tally(str(each.oracle), each.culprit, Outcome.FAIL.value, "", 0) for each in report.findings)
    report = replace(report, tallies=[*report.tallies, *met])
    root = ElementTree.Element("testsuites", name="relaxfuzz")
    for row in oracle_rows(report.tallies):
        _suite(root, report, row, dispositions)
    if result is not None:
        _gate(root, result)
    for suite in (*root, root):
        for key, what in _COUNTS.items():
            suite.set(key, str(sum(case.find(what) is not None for case in suite.iter("testcase"))))
    root.set("time", f"{report.info.elapsed_seconds:.3f}")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _gate(root: ElementTree.Element, result: GateResult) -> None:
    name = "relaxfuzz.gate"
    suite = ElementTree.SubElement(root, "testsuite", name=name)
    for each in (*result.of(RulingStatus.FAIL), *result.lacking):
        called = _clean(f"{each.subject}: {each.requirement}")
        case = ElementTree.SubElement(suite, "testcase", classname=name, name=called)
        failure = ElementTree.SubElement(case, "failure", type=each.status.value, message=_clean(each.line))
        failure.text = _clean("\n".join(each.lines))


def _suite(root: ElementTree.Element, report: Report, row: OracleRow, dispositions: Dispositions) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=f"relaxfuzz.{row.name}")
    info = report.info
    _properties(suite, row, seed=info.seed, tvm_version=info.tvm_version, ffi_version=info.ffi_version)
    found = dict(grouped([each for each in report.findings if str(each.oracle) == row.name], "culprit"))
    said = dict(grouped([each for each in report.tallies if str(each.oracle) == row.name], "culprit"))
    for judged in pass_rows(report.tallies, row.name):
        case = ElementTree.SubElement(suite, "testcase", classname=f"relaxfuzz.{row.name}", name=_clean(judged.name))
        _properties(case, judged)
        findings = found.get(judged.name, [])
        _failures(case, report, judged, findings, dispositions)
        if not judged.passed and not judged.failed and not findings:
            reasons = reason_rows(said.get(judged.name, []), 1)
            ElementTree.SubElement(case, "skipped", message=_clean(reasons[0].reason if reasons else "no checks"))
        others = [finding for finding in findings if not dispositions.fails(finding)]
        if others:
            out = ElementTree.SubElement(case, "system-out")
            out.text = _clean("\n\n".join(_details(report, finding, dispositions) for finding in others))


def _failures(
    case: ElementTree.Element,
    report: Report,
    row: OracleRow,
    findings: Sequence[FindingRecord],
    dispositions: Dispositions,
) -> None:
    for finding in findings:
        if dispositions.fails(finding):
            failure = ElementTree.SubElement(case, "failure", type=_clean(finding.kind))
            failure.set("message", _clean(f"{finding.id}: {title_line(finding)} ({finding.assessment.grade})"))
            failure.text = _clean(_details(report, finding, dispositions))
    if (unfiled := row.failed - sum(finding.count for finding in findings)) > 0:
        failure = ElementTree.SubElement(case, "failure", type="unfiled", message=f"{unfiled} failures, no finding")
        failure.text = "The campaign counted failures but has no finding for them."


def _details(report: Report, finding: FindingRecord, dispositions: Dispositions) -> str:
    lines = [
        f"signature: {readable(finding.signature)}",
        f"id: {finding.id}",
        f"family: {dispositions.family(finding)}",
        f"state: {finding.state}",
        f"count: {finding.count}",
        f"severity: {finding.assessment.grade}",
        f"evidence: {finding.assessment.evidence.words}",
        *filter(None, [blame_line(finding)]),
        f"repro: {finding.repro or '-'}",
        f"note: {finding.note or '-'}",
        readable(finding.message).strip(),
    ]
    if finding.id in report.recognized:
        lines.insert(4, report.recognized[finding.id].line)
    if not dispositions.fails(finding):
        lines.insert(4, f"does not fail: {dispositions.of(finding)}, {dispositions.why(finding) or '-'}")
        return "\n".join(lines)  # its script would be read by nobody, and reports of many known ones be large
    script = script_text(report.directory, finding.repro)
    return "\n".join([*lines, "", f"# {finding.repro}", script] if script else lines)


def _properties(parent: ElementTree.Element, row: OracleRow, **facts: object) -> None:
    properties = ElementTree.SubElement(parent, "properties")
    counts = {str(outcome): count for outcome, count in row.counts.items()}
    for name, value in {**counts, **facts}.items():
        ElementTree.SubElement(properties, "property", name=name, value=_clean(str(value)))


def _clean(text: str) -> str:
    # What XML 1.0 cannot hold, not even as a reference, is none that can be printed either.
    return disarmed(visible(shorten(text, _MOST_TEXT)))
