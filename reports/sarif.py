"""A campaign's findings as SARIF 2.1.0: a rule is an oracle, a result a finding.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html; the numbers of sections below are of that document.

The place of a finding is the line of the user's pass that raised, or else of its definition; of others the script,
relative to the campaign's directory: code scanning wants a path that stays the same. What is known is suppressed. A
suspect (``fuzzer.store.records.SUSPECTS``) is a warning, a question a note; of the rest severity decides.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from fuzzer.core.text import counted, printable, to_json, visible_all
from fuzzer.findings.assessment import Severity
from fuzzer.gate.judge import GateResult
from fuzzer.gate.ruling import RulingStatus
from fuzzer.store.records import CampaignState
from fuzzer.store.writer import FILE_NAME, FindingRecord
from relaxkit.passes.contract import OracleName
from reports.findings import Disposition, Dispositions, blame_line, script_text, title_line, users_line
from reports.tables import Report

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "relaxfuzz/signature/v1"
"""Raised when signatures are made otherwise (3.27.17: the name says how the value was computed)."""
_BASE = "CAMPAIGN"
_LEVELS = {
    Severity.S1: "error", Severity.S2: "error", Severity.S3: "error", Severity.S4: "warning", Severity.S5: "note",
}  # fmt: skip
"""Of what fails a build; what does not is a warning if nobody has proven it, and else a note."""
_QUESTIONS = {
    OracleName.CRASH: "A pass raises an undocumented error, kills the process, hangs or exhausts memory",
    OracleName.MUTATION: "A pass modifies its input module",
    OracleName.DETERMINISM: "A pass returns a different module the second time",
    OracleName.SEQUENTIAL: "Sequential returns a different module than direct calls",
    OracleName.IDEMPOTENCE: "A second run of a pass fails or changes what should be final",
    OracleName.WELL_FORMED: "A pass produces an ill-formed module",
    OracleName.POSTCONDITION: "A pass does not do what it promises",
    OracleName.ROUNDTRIP: "A module does not survive printing and parsing, or JSON",
    OracleName.LOCALITY: "An unrelated function changes what a pass does",
    OracleName.ENVIRONMENT: "A pass behaves differently in another environment",
    OracleName.NUMERIC: "A transformed module computes different results",
}


def render_sarif(report: Report, result: GateResult | None = None) -> str:
    """Write the log file; ``result`` is the gate's, which knows what is known."""
    dispositions = Dispositions.under(result)
    names = list(OracleName)
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver()},
                "automationDetails": {"id": f"relaxfuzz/seed-{report.info.seed}"},
                "invocations": [_invocation(report, result)],
                "originalUriBaseIds": {_BASE: {"description": {"text": "The campaign's directory."}}},
                "columnKind": "unicodeCodePoints",
                "properties": _facts(report, result),
                "results": [
                    _result(report, finding, dispositions, names.index(OracleName(finding.oracle)))
                    for finding in report.findings
                ],
            }
        ],
    }
    return to_json(visible_all(log), indent=1, ensure_ascii=True) + "\n"


def _driver() -> dict[str, Any]:
    return {
        "name": "relaxfuzz",
        "version": version("relaxfuzz"),
        "rules": [
            {
                "id": name.value,  # says all; a name that is the same is not wanted (3.49.7)
                "shortDescription": {"text": f"{text}."},
                "fullDescription": {"text": f"{text}. docs/oracles.md says how far to trust this oracle."},
                "defaultConfiguration": {"level": "error"},
                "properties": {"tags": ["compiler", "fuzzing"]},
            }
            for name, text in _QUESTIONS.items()
        ],
    }


def _invocation(report: Report, result: GateResult | None) -> dict[str, Any]:
    info = report.info
    decided = [] if result is None else [*result.of(RulingStatus.FAIL), *result.lacking]
    return {
        # 3.20.14: whether the tool did its work, whatever it found.
        "executionSuccessful": info.state not in (CampaignState.RUNNING, CampaignState.KILLED),
        "toolExecutionNotifications": [{"level": "error", "message": {"text": each.line}} for each in decided],
        "properties": {"started": info.started_at, "elapsedSeconds": info.elapsed_seconds, "state": info.state},
    }


def _facts(report: Report, result: GateResult | None) -> dict[str, Any]:
    info = report.info
    facts: dict[str, Any] = {
        "seed": info.seed, "tvmVersion": info.tvm_version, "ffiVersion": info.ffi_version, "cases": info.examples,
        "modules": info.modules,
    }  # fmt: skip
    if result is not None:
        facts["gate"] = result.exit.name.lower().replace("_", " ")
    return facts


def _result(report: Report, finding: FindingRecord, dispositions: Dispositions, rule: int) -> dict[str, Any]:
    disposition, assessment = dispositions.of(finding), finding.assessment
    level = "warning" if disposition is Disposition.SUSPECT else "note"
    script = script_text(report.directory, finding.repro)
    result: dict[str, Any] = {
        "ruleId": str(finding.oracle),
        "ruleIndex": rule,
        "level": _LEVELS[assessment.severity] if disposition is Disposition.FAILS else level,
        "rank": 120.0 - 20.0 * int(assessment.severity.value[1:]),  # 3.27.25: 100 is what is looked at first
        "kind": "fail",
        "message": {"text": _message(finding)},
        "locations": [_location(finding)],
        "fingerprints": {FINGERPRINT: finding.id},
        # What code scanning tells findings apart by; lines of scripts say nothing of the defect.
        "partialFingerprints": {"primaryLocationLineHash": f"{finding.id}:1"},
        "occurrenceCount": max(1, finding.count),
        "properties": {
            "pass": finding.culprit, "findingKind": finding.kind, "state": finding.state.value,
            "standing": disposition.value, **assessment.to_object(), "signature": finding.signature,
            "family": dispositions.family(finding), "bindings": finding.bindings,
            "firstSeenSeconds": round(finding.first_seen_seconds, 3),
            "lastSeenSeconds": round(finding.last_seen_seconds, 3), "note": finding.note,
            "repro": finding.repro, "frames": list(finding.failure.shown.frames),
        },
    }  # fmt: skip
    if (known := report.recognized.get(finding.id)) is not None:
        result["properties"]["known"] = known.line
    if script is not None:
        result["attachments"] = [
            {
                "description": {"text": "Script: exits with 1 while the defect exists, with 0 once it is fixed."},
                "artifactLocation": {"uri": quote(str(finding.repro)), "uriBaseId": _BASE},
            }
        ]
    if disposition is Disposition.KNOWN:
        result["suppressions"] = [
            {
                "kind": "external",
                "status": "accepted",
                "justification": dispositions.why(finding) or "known on your list",
            }
        ]
    return result


def _message(finding: FindingRecord) -> str:
    title = title_line(finding).rstrip(".")
    what = title if finding.parts is not None else f"{printable(finding.culprit)}: {title}"
    script = f" Script: {finding.repro}." if finding.repro else ""
    severity, blame = finding.assessment.grade, f" {told}." if (told := blame_line(finding)) else ""
    seen = f"{severity}, finding {finding.id}, {counted(finding.count, 'case')}"
    return f"{what} ({seen}).{blame}{script}"


def _location(finding: FindingRecord) -> dict[str, Any]:
    own = users_line(finding)
    place, line = own or (finding.repro or FILE_NAME, 1)
    base = {} if own else {"uriBaseId": _BASE}  # relative to the repository without one
    return {
        "physicalLocation": {"artifactLocation": {"uri": quote(place), **base}, "region": {"startLine": line}},
        "logicalLocations": [{"name": finding.culprit, "kind": "function"}],
    }
