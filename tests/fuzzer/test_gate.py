"""The gate on prepared records: each exit code, their precedence, and what counts in a pass rate."""

import json
from dataclasses import replace

import pytest

from fuzzer.cases import Case
from fuzzer.gate import GateExit, GateResult, as_json, judge_campaign, render
from fuzzer.known import KnownFinding, KnownFindings
from fuzzer.policy import Limit, Policy, Rule
from fuzzer.store import CampaignInfo, FindingRecord, FindingState, Tally
from oracles.passref import PassRef
from oracles.verdict import Evidence

INFO = CampaignInfo(
    7,
    "2026-01-01T00:00:00+00:00",
    60.0,
    100,
    10,
    2,
    "0.27.0.post1",
    "0.1.14",
    ("FuseOps",),
    ("crash",),
    "finished",
    "1m",
)
KNOWN = KnownFinding("0000000001", "", "https://example.org/1", "reported")


def finding(
    number: int,
    count: int = 1,
    state: FindingState = FindingState.CONFIRMED,
    oracle: str = "crash",
    culprit: str = "FuseOps",
) -> FindingRecord:
    case = Case("{}", (PassRef(culprit, "x"),), 0)
    return FindingRecord(
        f"{number:010x}", f"signature {number}", oracle, culprit, "InternalError", "boom\nmore", (), count, state, 0.0,
        1.0, case, None, 3, "repros/x.py", Evidence("InternalError", "boom"), "",
    )  # fmt: skip


def tallies(passed: int, failed: int, oracle: str = "crash", culprit: str = "FuseOps") -> list[Tally]:
    return [
        Tally(oracle, culprit, "pass", "", passed),
        Tally(oracle, culprit, "fail", "", failed),
        Tally(oracle, culprit, "skip", "why", 1000),
    ]


def policy(rate: float | None = None, checks: int = 1, *known: KnownFinding, **where: str) -> Policy:
    rule = Rule(where.get("oracle", "crash"), where.get("culprit"), Limit(rate, checks))
    return Policy((rule,), KnownFindings(known))


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (judge_campaign(policy(1.0, 10), tallies(10, 0), []), GateExit.PASSED),
        (judge_campaign(policy(None, 10), tallies(10, 0), []), GateExit.PASSED),
        (judge_campaign(policy(None, 10), tallies(9, 1), [finding(2)]), GateExit.FAILED),
        (judge_campaign(policy(0.95, 10), tallies(90, 10), []), GateExit.FAILED),
        (judge_campaign(policy(0.9, 10), tallies(90, 10), []), GateExit.PASSED),
        (judge_campaign(policy(0.9, 101), tallies(100, 0), []), GateExit.NO_EVIDENCE),
        (judge_campaign(policy(0.9, 1, oracle="numeric"), tallies(100, 0), []), GateExit.NO_EVIDENCE),
        (judge_campaign(Policy((), KnownFindings()), [], []), GateExit.NO_EVIDENCE),
        (judge_campaign(Policy((), KnownFindings()), tallies(0, 0), []), GateExit.NO_EVIDENCE),
        (judge_campaign(Policy((), KnownFindings()), tallies(1, 0), []), GateExit.PASSED),
        # a failure outranks missing evidence, be it a rate or a finding
        (judge_campaign(policy(0.9, 1000), tallies(1, 9), []), GateExit.FAILED),
        (judge_campaign(policy(0.9, 1000), tallies(100, 0), [finding(2)]), GateExit.FAILED),
    ],
)
def test_exit_codes(result: GateResult, expected: GateExit) -> None:
    assert result.exit is expected


def test_codes_are_the_documented_ones() -> None:
    assert [int(code) for code in GateExit] == [0, 1, 2, 3]


def test_known_findings_do_not_fail_nor_lower_the_rate() -> None:
    result = judge_campaign(policy(1.0, 100, KNOWN), tallies(80, 20), [finding(1, 20)])
    assert result.exit is GateExit.PASSED
    count = result.rules[0].count
    assert (count.rate, count.raw_rate, count.checks, count.excused) == (1.0, 0.8, 100, 20)
    (line,) = [line for line in render(result, INFO) if line.startswith("ok")]
    expected = "ok    crash: pass rate 100 % (at least 100 %), 80 % with 20 known failures"
    assert line == f"{expected}; 100 checks (at least 100)"


def test_one_new_signature_beside_a_known_one_fails() -> None:
    result = judge_campaign(policy(0.5, 1, KNOWN), tallies(80, 21), [finding(1, 20), finding(2)])
    assert result.exit is GateExit.FAILED
    assert [found.id for found in result.new] == ["0000000002"]
    assert [found.id for found, _ in result.known] == ["0000000001"]


def test_known_by_signature() -> None:
    entry = KnownFinding("", "signature 2", "r", "w")
    assert judge_campaign(policy(1.0, 1, entry), tallies(1, 1), [finding(2)]).exit is GateExit.PASSED


def test_flaky_findings_are_listed_with_their_note_but_do_not_fail_by_themselves() -> None:
    found = replace(finding(3, state=FindingState.FLAKY), note="came back in 2 of 3 runs")
    result = judge_campaign(policy(0.99, 1), tallies(99, 1), [found])
    assert result.exit is GateExit.PASSED
    (line,) = [line for line in render(result, INFO) if line.startswith("flaky 0000000003 ")]
    assert line.endswith(": came back in 2 of 3 runs")


def test_failures_of_flaky_findings_stay_in_the_pass_rate() -> None:
    """A triage that confirms nothing must not open the gate."""
    flaky = [finding(number, 5, FindingState.FLAKY) for number in range(2, 6)]
    result = judge_campaign(policy(0.99, 1), tallies(80, 20), flaky)
    assert result.exit is GateExit.FAILED
    assert (result.rules[0].count.rate, result.rules[0].count.excused) == (0.8, 0)


@pytest.mark.parametrize("state", [FindingState.NEW, FindingState.CONFIRMED, FindingState.KNOWN])
def test_only_the_policy_excuses(state: FindingState) -> None:
    """A campaign that was told of a known finding does not excuse it from a gate that was not."""
    assert judge_campaign(policy(None, 1), tallies(9, 1), [finding(4, state=state)]).exit is GateExit.FAILED


def test_only_excused_failures_leave_no_rate() -> None:
    result = judge_campaign(policy(0.5, 1, KNOWN), tallies(0, 5), [finding(1, 5)])
    assert result.exit is GateExit.NO_EVIDENCE
    assert result.rules[0].count.rate is None


def test_excused_failures_count_only_where_they_happened() -> None:
    mixed = [*tallies(10, 5), *tallies(10, 5, "crash", "Normalize"), *tallies(10, 0, "mutation")]
    rules = (
        Rule("crash", None, Limit(0.5, 1)),
        Rule("crash", "FuseOps", Limit(1.0, 1)),
        Rule(None, "Normalize", Limit(0.9, 1)),
    )
    result = judge_campaign(Policy(rules, KnownFindings((KNOWN,))), mixed, [finding(1, 5)])
    assert [rule.exit for rule in result.rules] == [GateExit.PASSED, GateExit.PASSED, GateExit.FAILED]
    assert [rule.count.excused for rule in result.rules] == [5, 5, 0]
    assert result.total.checks == 40


def test_a_rate_just_below_is_not_printed_as_reached() -> None:
    result = judge_campaign(policy(1.0, 1), tallies(999_999, 1), [])
    assert result.exit is GateExit.FAILED
    assert "pass rate 99.999 % (at least 100 %)" in render(result, INFO)[0]


def test_lines_say_what_decided() -> None:
    unseen = KnownFinding("00000000ff", "", "somewhere", "old")
    data = [*tallies(10, 1), Tally("crash", "FuseOps", "invalid", "harness error", 2)]
    result = judge_campaign(policy(1.0, 100, KNOWN, unseen), data, [finding(1), finding(2)])
    lines = render(result, INFO)
    assert lines[0].startswith("FAIL ") is False  # the only failure that is not known belongs to no tally
    assert "FAIL  new finding 0000000002 crash FuseOps: boom (1x) [repros/x.py]" in lines
    assert "known 0000000001 crash FuseOps: boom (1x) [repros/x.py]; https://example.org/1: reported" in lines
    assert "note  known '00000000ff' was not seen (somewhere)" in lines
    assert any(line.startswith("note  2 verdicts are invalid") for line in lines)
    assert lines[-1] == "gate FAILED: TVM 0.27.0.post1, 11 checks, 1 new, 1 known, 0 flaky findings"


def test_a_running_campaign_is_pointed_out() -> None:
    result = judge_campaign(policy(1.0, 1), tallies(1, 0), [])
    note = "note  the campaign is still running: the numbers may change"
    assert note in render(result, replace(INFO, state="running"))
    assert note not in render(result, INFO)


def test_json_holds_the_same() -> None:
    result = judge_campaign(policy(1.0, 100, KNOWN), tallies(10, 2), [finding(1), finding(2)])
    values = json.loads(json.dumps(as_json(result, INFO)))
    assert (values["exit"], values["verdict"]) == (1, "failed")
    assert values["rules"][0]["pass_rate"] == pytest.approx(10 / 11)
    assert values["rules"][0]["raw_pass_rate"] == pytest.approx(10 / 12)
    assert [row["id"] for row in values["new"]] == ["0000000002"]
    assert values["known"][0]["reference"] == "https://example.org/1"
