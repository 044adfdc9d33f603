import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

from junitparser import JUnitXml
from sample_findings import finding

from fuzzer.findings.file import KnownFinding, KnownFindings
from fuzzer.gate.judge import judge_campaign
from fuzzer.gate.measured import measured
from fuzzer.gate.policy import Limit, Policy, Rule, Weight
from fuzzer.gate.ruling import RulingStatus
from fuzzer.store.records import FindingState, Tally
from oracles.core.verdict import NOTE, UNCOVERED
from reports.junit import render_junit
from reports.tables import Report


def parse(report: Report) -> ElementTree.Element:
    return ElementTree.fromstring(render_junit(report).encode())


def case(root: ElementTree.Element, oracle: str, name: str) -> ElementTree.Element:
    found = root.find(f"testsuite[@name='relaxfuzz.{oracle}']/testcase[@name='{name}']")
    assert found is not None
    return found


def properties(element: ElementTree.Element) -> dict[str, str]:
    return {item.attrib["name"]: item.attrib["value"] for item in element.findall("properties/property")}


def test_one_suite_an_oracle_one_case_a_pass(report: Report) -> None:
    root = parse(report)
    assert root.tag == "testsuites"
    assert [suite.attrib["name"] for suite in root] == ["relaxfuzz.crash", "relaxfuzz.numeric"]
    crash, numeric = root
    assert [c.attrib["name"] for c in crash.findall("testcase")] == ["FuseOps", "LegalizeOps", "Normalize"]
    assert [crash.attrib[key] for key in ("tests", "failures", "skipped", "errors")] == ["3", "1", "0", "0"]
    assert [numeric.attrib[key] for key in ("tests", "failures", "skipped")] == ["2", "0", "1"]
    assert [root.attrib[key] for key in ("tests", "failures", "skipped", "errors")] == ["5", "1", "1", "0"]
    assert root.attrib["time"] == "605.000"


def test_a_failure_carries_signature_count_and_repro(report: Report) -> None:
    (failure,) = case(parse(report), "crash", "FuseOps").findall("failure")
    text = failure.text or ""
    assert "signature: crash: FuseOps: InternalError: a <script>" in text
    assert "count: 9" in text
    assert "repro: repros/0000000001.py" in text
    assert "second line" in text
    assert failure.attrib["message"].startswith("0000000001: a <script>")
    assert "\x07" not in text
    assert "\x1b" not in text


def test_a_failure_carries_the_script(report: Report, tmp_path: Path) -> None:
    (tmp_path / "repros").mkdir()
    (tmp_path / "repros" / "0000000001.py").write_text("print('BUG: <&>]]>')\n")
    (failure,) = case(parse(replace(report, directory=tmp_path)), "crash", "FuseOps").findall("failure")
    assert (failure.text or "").endswith("# repros/0000000001.py\nprint('BUG: <&>]]>')\n")


def test_a_script_outside_of_the_campaign_is_not_read(report: Report, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("secret")
    (tmp_path / "campaign").mkdir()
    stray = [replace(each, repro="../secret.py") for each in report.findings]
    assert "secret\n" not in render_junit(replace(report, directory=tmp_path / "campaign", findings=stray))


def test_the_policy_says_what_is_known(report: Report) -> None:
    entry = KnownFinding("0000000001", "", "https://example.org/7", "reported")
    policy = Policy((), KnownFindings((entry,)))
    result = judge_campaign(policy, measured(report.info, report.tallies, report.findings, {}))
    root = ElementTree.fromstring(render_junit(report, result).encode())
    assert case(root, "crash", "FuseOps").find("failure") is None
    out = case(root, "crash", "FuseOps").findtext("system-out") or ""
    assert "does not fail: known, https://example.org/7: reported" in out
    # The campaign was told that it is known, this policy was not.
    assert case(root, "crash", "Normalize").find("failure") is not None


def test_a_real_consumer_reads_the_same(report: Report) -> None:
    suites = list(JUnitXml.fromstring(render_junit(report).encode()))
    assert [(suite.name, suite.tests, suite.failures, suite.skipped) for suite in suites] == [
        ("relaxfuzz.crash", 3, 1, 0),
        ("relaxfuzz.numeric", 2, 0, 1),
    ]
    (failed,) = [each for suite in suites for each in suite if each.result and not each.is_skipped]
    assert (failed.name, failed.classname) == ("FuseOps", "relaxfuzz.crash")
    assert failed.result[0].message.startswith("0000000001: a <script>")
    assert "signature: crash: FuseOps" in failed.result[0].text


def test_known_findings_and_suspects_do_not_fail_but_are_written(report: Report) -> None:
    root = parse(report)
    known = case(root, "crash", "Normalize")
    assert known.find("failure") is None
    assert "accepted" in (known.findtext("system-out") or "")
    suspect = case(root, "crash", "FuseOps").findtext("system-out") or ""
    assert "state: flaky\ndoes not fail: suspect, " in suspect
    assert "now and then" in suspect


def test_skips_rejects_and_invalids_are_properties(report: Report) -> None:
    root = parse(report)
    assert properties(case(root, "crash", "LegalizeOps"))["reject"] == "4"
    silent = case(root, "numeric", "LegalizeOps")
    assert (properties(silent)["skip"], properties(silent)["invalid"]) == ("3", "1")
    skipped = silent.find("skipped")
    assert skipped is not None
    assert skipped.attrib["message"].startswith("a <script>")
    suite = root.find("testsuite")
    assert suite is not None
    assert properties(suite)["tvm_version"] == "0.27.0.post1"


def test_failures_without_a_finding_still_fail(report: Report) -> None:
    (failure,) = case(parse(replace(report, findings=[])), "crash", "Normalize").findall("failure")
    assert failure.attrib["message"] == "2 failures, no finding"


def test_failures_beyond_those_of_the_findings_fail(report: Report) -> None:
    found = [replace(each, count=1) if each.culprit == "Normalize" else each for each in report.findings]
    (failure,) = case(parse(replace(report, findings=found)), "crash", "Normalize").findall("failure")
    assert failure.attrib["message"] == "1 failures, no finding"


def test_a_finding_that_was_never_counted_fails(report: Report) -> None:
    root = parse(replace(report, tallies=[each for each in report.tallies if each.culprit != "FuseOps"]))
    assert case(root, "crash", "FuseOps").find("failure") is not None
    alone = parse(replace(report, tallies=[]))
    assert [alone.attrib[key] for key in ("tests", "failures", "skipped")] == ["2", "1", "0"]


def test_an_empty_campaign_is_well_formed(report: Report) -> None:
    root = parse(replace(report, tallies=[], findings=[]))
    assert (len(root), root.attrib["tests"]) == (0, "0")


def test_findings_are_looked_up_by_pass(report: Report) -> None:
    tallies = [Tally("crash", f"P{number}", "fail", "", 1) for number in range(200)]
    findings = [finding(number, f"P{number}", FindingState.CONFIRMED, "crash", "m") for number in range(200)]
    asked = []

    class Name(str):
        def __eq__(self, other: object) -> bool:
            asked.append(other)
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    named = [replace(each, culprit=Name(each.culprit)) for each in findings]
    root = parse(replace(report, tallies=tallies, findings=named))
    assert [len(each.findall("failure")) for each in root.iter("testcase")] == [1] * 200
    assert len(asked) < 2000


def test_every_line_that_decided_in_the_gate_fails(report: Report) -> None:
    noted = Tally("numeric", "Mine", "skip", f"{NOTE}Mine {UNCOVERED}", 4)
    report = replace(report, findings=[], tallies=[Tally("crash", "Mine", "pass", "", 9), noted])
    policy = Policy((Rule("crash", None, Limit(min_checks=30)),), KnownFindings(), notes=Weight.FAIL)
    result = judge_campaign(policy, measured(report.info, report.tallies, [], {}))
    lines = [each.line for each in result.of(RulingStatus.FAIL, RulingStatus.SHORT)]
    assert {line[:5] for line in lines} == {"FAIL ", "SHORT"}
    root = ElementTree.fromstring(render_junit(report, result).encode())
    cases = root.findall("testsuite[@name='relaxfuzz.gate']/testcase")
    assert sorted(each.attrib["message"] for case in cases for each in case.findall("failure")) == sorted(lines)
    assert {each.text for case in cases for each in case.findall("failure")} == {*lines}
    assert all(case.find("skipped") is None for case in cases)
    assert root.attrib["failures"] == str(len(lines)), "no finding, and red all the same"
    passed = judge_campaign(Policy((), KnownFindings()), measured(report.info, report.tallies, [], {}))
    (suite,) = ElementTree.fromstring(render_junit(report, passed).encode()).findall(
        "testsuite[@name='relaxfuzz.gate']"
    )
    assert (suite.attrib["tests"], suite.attrib["failures"], len(suite)) == ("0", "0", 0)
