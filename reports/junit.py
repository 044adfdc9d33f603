"""A campaign's report as JUnit XML: one suite an oracle, one case a pass.

A case fails when a finding of that oracle and pass is open; its failure names signature and count and carries the
script, so that it can be run from where the report is read.  Known findings and suspects are written out but do not
fail, as in the gate; what is known a policy says, where there is one.  A case without any check is skipped, with the
most frequent reason.  How many verdicts there were of each kind stands in the properties: a JUnit case is a pass, not a
verdict.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

from fuzzer.gate import GateResult
from fuzzer.plaintext import first_line
from fuzzer.store import FindingRecord
from reports.scripts import script_text
from reports.standing import Standing, Standings, standings
from reports.tables import OracleRow, Report, oracle_rows, pass_rows, reason_rows

# What XML 1.0 cannot hold, not even as a reference.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(report: Report, result: GateResult | None = None) -> str:
    """The XML document; ``result`` is the gate's, which knows what is known."""
    standing = standings(result)
    root = ElementTree.Element("testsuites", name="relaxfuzz")
    totals = [0, 0, 0]
    for row in oracle_rows(report.tallies):
        suite = _suite(root, report, row, standing)
        totals = [total + int(suite.get(key, "0")) for total, key in zip(totals, _COUNTS, strict=True)]
    for key, total in zip(_COUNTS, totals, strict=True):
        root.set(key, str(total))
    root.set("errors", "0")
    root.set("time", f"{report.info.elapsed_seconds:.3f}")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


_COUNTS = ("tests", "failures", "skipped")


def _suite(root: ElementTree.Element, report: Report, row: OracleRow, standing: Standings) -> ElementTree.Element:
    suite = ElementTree.SubElement(root, "testsuite", name=f"relaxfuzz.{row.name}")
    properties = _properties(suite, row)
    for name, value in (
        ("seed", report.info.seed),
        ("tvm_version", report.info.tvm_version),
        ("ffi_version", report.info.ffi_version),
    ):
        _property(properties, name, value)
    rows = pass_rows(report.tallies, row.name)
    for judged in rows:
        findings = [f for f in report.findings if str(f.oracle) == row.name and f.culprit == judged.name]
        reasons = [
            reason.reason
            for reason in reason_rows(
                [t for t in report.tallies if str(t.oracle) == row.name and t.culprit == judged.name], 1
            )
        ]
        case = _case(suite, row.name, judged)
        _say(case, report, judged, findings, standing)
        if not judged.passed and not judged.failed:
            ElementTree.SubElement(case, "skipped", message=_clean(reasons[0] if reasons else "no checks"))
        _aside(case, report, findings, standing)
    suite.set("tests", str(len(rows)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in suite.iter("testcase"))))
    suite.set("skipped", str(sum(case.find("skipped") is not None for case in suite.iter("testcase"))))
    suite.set("errors", "0")
    return suite


def _case(suite: ElementTree.Element, oracle: str, row: OracleRow) -> ElementTree.Element:
    case = ElementTree.SubElement(suite, "testcase", classname=f"relaxfuzz.{oracle}", name=_clean(row.name))
    _properties(case, row)
    return case


def _say(
    case: ElementTree.Element, report: Report, row: OracleRow, findings: Sequence[FindingRecord], standing: Standings
) -> None:
    """The failures of a case."""
    for finding in findings:
        if standing.of(finding) is Standing.FAILS:
            failure = ElementTree.SubElement(case, "failure", type=_clean(finding.kind))
            failure.set("message", _clean(f"{finding.id}: {first_line(finding.message, finding.kind)}"))
            failure.text = _clean(_details(report, finding, standing))
    if not findings and row.failed:
        failure = ElementTree.SubElement(case, "failure", type="unfiled", message=f"{row.failed} failures, no finding")
        failure.text = "The campaign counted failures but holds no finding of them."


def _aside(case: ElementTree.Element, report: Report, findings: Sequence[FindingRecord], standing: Standings) -> None:
    """Findings that do not fail."""
    others = [finding for finding in findings if standing.of(finding) is not Standing.FAILS]
    if others:
        out = ElementTree.SubElement(case, "system-out")
        out.text = _clean("\n\n".join(_details(report, finding, standing) for finding in others))


def _details(report: Report, finding: FindingRecord, standing: Standings) -> str:
    stands = standing.of(finding)
    lines = [
        f"signature: {finding.signature}",
        f"id: {finding.id}",
        f"family: {standing.family(finding)}",
        f"state: {finding.state.value}",
        f"count: {finding.count}",
        f"repro: {finding.repro or '-'}",
        f"note: {finding.note or '-'}",
        finding.message.strip(),
    ]
    if stands is not Standing.FAILS:
        lines.insert(4, f"does not fail: {stands}, {standing.why(finding) or '-'}")
        return "\n".join(lines)  # its script would be read by nobody, and reports of many known ones be large
    script = script_text(report.directory, finding.repro)
    return "\n".join([*lines, "", f"# {finding.repro}", script] if script else lines)


def _properties(parent: ElementTree.Element, row: OracleRow) -> ElementTree.Element:
    properties = ElementTree.SubElement(parent, "properties")
    for name, value in (
        ("pass", row.passed),
        ("fail", row.failed),
        ("skip", row.skipped),
        ("reject", row.rejected),
        ("invalid", row.invalid),
    ):
        _property(properties, name, value)
    return properties


def _property(properties: ElementTree.Element, name: str, value: object) -> None:
    ElementTree.SubElement(properties, "property", name=name, value=_clean(str(value)))


def _clean(text: str) -> str:
    return _ILLEGAL.sub("�", text)
