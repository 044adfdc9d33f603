"""The gate on prepared records: each exit code, their precedence, and what counts in a pass rate."""

import json
from dataclasses import replace

import pytest
from msgspec import structs

from fuzzer.core.case import Case
from fuzzer.findings.assessment import Assessment, EvidenceClass, Severity
from fuzzer.findings.family import Traits
from fuzzer.findings.file import KnownFinding, KnownFindings
from fuzzer.findings.script_parts import ScriptParts
from fuzzer.findings.signature import readable
from fuzzer.gate.judge import GateExit, GateResult
from fuzzer.gate.judge import judge_campaign as judge
from fuzzer.gate.measured import GateSubject, measured
from fuzzer.gate.policy import Comparing, Limit, Policy, Rule, Weight
from fuzzer.gate.ruling import Requirement, RulingStatus
from fuzzer.gate.text import as_json, explain, render
from fuzzer.repro.table import words_of
from fuzzer.store.records import SUSPECTS, CampaignInfo, CampaignState, FindingRecord, FindingState, Tally
from oracles.core.notes import STRICT, uncovered
from oracles.core.verdict import CUT_SHORT, NOTE, UNCOVERED, Details, Evidence, Outcome
from relaxkit.passes.pass_ref import PassRef

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
    CampaignState.FINISHED,
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
        f"{number:010x}", f"signature {number}", oracle, culprit, Evidence("InternalError", "boom\nmore"), count, state,
        0.0, 1.0, case, None, 3, "repros/x.py", "",
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


def noting(rate: float) -> Policy:
    return Policy((Rule("crash", None, Limit(rate, 10, new_findings=Weight.NOTE)),), KnownFindings())


def judged(
    policy: Policy, rows: list[Tally], findings: list[FindingRecord], state: CampaignState = CampaignState.FINISHED
) -> GateResult:
    return judge(policy, measured(replace(INFO, state=state), rows, findings, {}))


def rates(result: GateResult) -> list[tuple[float | None, int | float | None]]:
    """Pass rate and excused failures of each rule."""
    rows = [ruling.numbers for ruling in result.rulings if ruling.requirement is Requirement.PASS_RATE]
    return [(row["rate"], row["excused"]) for row in rows]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((policy(1.0, 10), tallies(10, 0), []), GateExit.PASSED),
        ((policy(None, 10), tallies(10, 0), []), GateExit.PASSED),
        ((policy(None, 10), tallies(9, 1), [finding(2)]), GateExit.FAILED),
        ((policy(0.95, 10), tallies(90, 10), []), GateExit.FAILED),
        # 90 of 100 is a rate of 0.9, and shows one of 0.82: Wilson's interval is 0.826 to 0.945.
        ((noting(0.82), tallies(90, 10), [finding(2, 10)]), GateExit.PASSED),
        ((noting(0.83), tallies(90, 10), [finding(2, 10)]), GateExit.NO_EVIDENCE),
        ((noting(0.9), tallies(90, 10), [finding(2, 10)]), GateExit.NO_EVIDENCE),
        # failures that no finding accounts for were taken out of it
        ((policy(None, 10), tallies(90, 10), []), GateExit.FAILED),
        ((noting(0.82), tallies(90, 10), [finding(2, 9)]), GateExit.FAILED),
        ((noting(0.82), tallies(90, 10), [finding(2, 10, oracle="numeric")]), GateExit.FAILED),
        ((policy(0.9, 101), tallies(100, 0), []), GateExit.NO_EVIDENCE),
        ((policy(0.9, 1, oracle="numeric"), tallies(100, 0), []), GateExit.NO_EVIDENCE),
        ((Policy((), KnownFindings()), [], []), GateExit.NO_EVIDENCE),
        ((Policy((), KnownFindings()), tallies(0, 0), []), GateExit.NO_EVIDENCE),
        ((Policy((), KnownFindings()), tallies(1, 0), []), GateExit.PASSED),
        # a failure outranks missing evidence, be it a rate or a finding
        ((policy(0.9, 1000), tallies(1, 9), []), GateExit.FAILED),
        ((policy(0.9, 1000), tallies(100, 0), [finding(2)]), GateExit.FAILED),
    ],
)
def test_exit_codes(given: tuple[Policy, list[Tally], list[FindingRecord]], expected: GateExit) -> None:
    assert judged(*given).exit is expected


def test_codes_are_the_documented_ones() -> None:
    assert [int(code) for code in GateExit] == [0, 1, 2, 3]


def test_known_findings_do_not_fail_nor_lower_the_rate() -> None:
    result = judged(policy(1.0, 100, KNOWN), tallies(80, 20), [finding(1, 20)])
    assert result.exit is GateExit.PASSED
    assert rates(result) == [(1.0, 20)]
    assert (result.total.checks, result.excused) == (100, 20)
    (line,) = [line for line in render(result) if line.startswith("ok")]
    expected = "ok    crash: pass rate 100% (at least 100%; 80 of 80, 95.418% to 100%)"
    assert line == f"{expected}; 80% with 20 excused failures"


def test_one_new_signature_beside_a_known_one_fails() -> None:
    result = judged(policy(0.5, 1, KNOWN), tallies(80, 21), [finding(1, 20), finding(2)])
    assert result.exit is GateExit.FAILED
    assert [found.id for found in result.findings.new] == ["0000000002"]
    assert [found.id for found, _ in result.findings.known] == ["0000000001"]


def test_known_by_signature() -> None:
    entry = KnownFinding("", "signature 2", "r", "w")
    assert judged(policy(1.0, 1, entry), tallies(1, 1), [finding(2)]).exit is GateExit.PASSED


def test_suspects_are_listed_with_their_note_but_do_not_fail_by_themselves() -> None:
    found = replace(finding(3, state=FindingState.FLAKY), note="came back in 2 of 3 runs")
    result = judged(policy(0.9, 1), tallies(99, 1), [found])
    assert result.exit is GateExit.PASSED
    lines = render(result)
    (at,) = [at for at, line in enumerate(lines) if line.startswith("suspect 0000000003 ")]
    assert lines[at + 1 : at + 3] == ["      script: repros/x.py", "      came back in 2 of 3 runs"]
    assert render(result)[-1].endswith("100 checks, 0 new findings, 0 known, 1 suspect")
    assert [row["id"] for row in as_json(result)["suspects"]] == [found.id]
    result = judged(policy(0.9, 1), tallies(99, 1), [replace(found, state=FindingState.NEW)])
    assert result.exit is GateExit.FAILED
    told = f"for details, run `relaxfuzz minimize . {found.id}`"
    assert f"      untriaged, so its family is not known yet; {told}" in render(result)
    result = judged(policy(0.9, 1), tallies(99, 1), [replace(found, state=FindingState.NEW, traits=Traits("FuseOps"))])
    assert f"      untriaged; {told}" in render(result)


@pytest.mark.parametrize("state", sorted(SUSPECTS))
def test_failures_of_suspects_stay_in_the_pass_rate(state: FindingState) -> None:
    """Where the policy says so: a triage that proves nothing must not open the gate."""
    suspects = [finding(number, 5, state) for number in range(2, 6)]
    strict = structs.replace(policy(0.99, 1), suspects=Weight.FAIL)
    result = judged(strict, tallies(80, 20), suspects)
    assert result.exit is GateExit.FAILED
    assert (rates(result), result.findings.new) == ([(0.8, 0)], ())


def test_suspects_fail_no_gate_by_default() -> None:
    suspects = [finding(number, 5, FindingState.FLAKY) for number in range(2, 6)]
    result = judged(policy(0.9, 1), tallies(80, 20), suspects)
    assert result.exit is GateExit.PASSED


@pytest.mark.parametrize(
    ("state", "passed", "failed", "why"),
    [
        (FindingState.UNSCRIPTED, 1000, 1, "the oracle reports it in every fresh process, but no script shows it"),
        (FindingState.FLAKY, 0, 133, "133 of 133 checks fail, but not in fresh processes"),
        (FindingState.FLAKY, 3, 97, "97 of 100 checks fail, but not in fresh processes"),
        (FindingState.FLAKY, 10, 90, ""),
        (FindingState.FLAKY, 0, 2, ""),
    ],
)
def test_a_suspect_that_is_no_chance_leaves_no_evidence(
    state: FindingState, passed: int, failed: int, why: str
) -> None:
    """A pass that failed every check of an oracle passed the gate, because the script was wrong."""
    found = finding(3, failed, state)
    result = judged(Policy((), KnownFindings()), tallies(passed, failed), [found])
    assert result.exit is (GateExit.NO_EVIDENCE if why else GateExit.PASSED)
    assert (f"      relaxfuzz contradicts itself: {why}" in render(result)) is bool(why)
    entry = KnownFinding(found.id, "", "https://example.org/3", "accepted")
    for weight, excuses in ((Weight.FAIL, KnownFindings((entry,))), (Weight.NOTE, KnownFindings())):
        rule = Rule(None, None, Limit(new_findings=weight))
        assert judged(Policy((rule,), excuses), tallies(passed, failed), [found]).exit is GateExit.PASSED


def test_failures_of_suspects_are_excused_beside_a_baseline_as_well() -> None:
    before = measured(INFO, tallies(2000, 0), [], {})
    now = measured(INFO, tallies(1000, 100), [finding(3, 100, FindingState.FLAKY)], {})
    for weight, code in ((Weight.NOTE, GateExit.PASSED), (Weight.FAIL, GateExit.FAILED)):
        assert judge(Policy((), KnownFindings(), suspects=weight), now, before).exit is code


def test_suspects_of_an_accepted_baseline_are_accepted() -> None:
    now = measured(INFO, tallies(0, 100), [finding(3, 100, FindingState.UNSCRIPTED)], {})
    for accepts, code in ((True, GateExit.PASSED), (False, GateExit.NO_EVIDENCE)):
        rules = Policy((), KnownFindings(), comparing=Comparing(accept_findings=accepts))
        assert judge(rules, now, now).exit is code


def test_cases_that_a_known_finding_cut_short_are_no_skips() -> None:
    """Accepting a finding must not turn a gate red that limits skips."""
    rows = [Tally("crash", "Mine", "skip", CUT_SHORT, 500), Tally("crash", "Mine", "pass", "", 40)]
    rule = Rule("crash", None, Limit(max_skip_share=0.1))
    assert judged(Policy((rule,), KnownFindings()), rows, []).exit is GateExit.PASSED
    # But if a known finding cuts all cases short, nothing is known of what the oracle would have said.
    assert judged(Policy((rule,), KnownFindings()), rows[:1], []).exit is GateExit.NO_EVIDENCE


@pytest.mark.parametrize("reason", ["pass changed nothing", "no postcondition", "note: it breaks 'keeps purity'"])
def test_what_cannot_apply_is_no_skip(reason: str) -> None:
    rows = [Tally("crash", "Mine", "skip", reason, 500), Tally("crash", "Mine", "pass", "", 40)]
    limit = Limit(max_skip_share=0.1)
    assert judged(Policy((Rule("crash", None, limit),), KnownFindings()), rows, []).exit is GateExit.PASSED
    assert judged(Policy((Rule("crash", None, limit),), KnownFindings()), rows[:1], []).exit is GateExit.NO_EVIDENCE


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("no postcondition", GateExit.PASSED),
        ("locality is not promised", GateExit.PASSED),
        (f"{NOTE}The pass drops function attributes, and {UNCOVERED}", GateExit.PASSED),
        ("", GateExit.NO_EVIDENCE),
    ],
)
def test_a_pass_that_fails_now_and_then_still_promises_nothing(reason: str, outcome: GateExit) -> None:
    """Accepting a crash left the gate without evidence for good, since its module gave no output to hold a claim to."""
    unusable = ("no output", "output is ill-formed", "input is ill-formed", CUT_SHORT)
    rows = [Tally("crash", "Mine", "skip", each, 5) for each in unusable]
    rows += [Tally("crash", "Mine", "skip", reason, 100)] if reason else []
    rows += [Tally("numeric", "Mine", "pass", "", 40)]
    rules = (Rule("crash", None, Limit(min_checks=20)),)
    assert judged(Policy(rules, KnownFindings()), rows, []).exit is outcome


def test_many_suspects_are_counted() -> None:
    many = [finding(number, 2, FindingState.FLAKY) for number in range(2, 10)]
    lines = render(judged(policy(0.5, 1), tallies(84, 16), many))
    assert "suspect 8 suspects (16 failures): --explain lists them" in lines


@pytest.mark.parametrize("state", [FindingState.NEW, FindingState.CONFIRMED, FindingState.KNOWN])
def test_only_the_policy_excuses(state: FindingState) -> None:
    """A campaign that was told of a known finding does not excuse it from a gate that was not."""
    assert judged(policy(None, 1), tallies(9, 1), [finding(4, state=state)]).exit is GateExit.FAILED


def test_only_excused_failures_leave_no_rate() -> None:
    result = judged(policy(0.5, 1, KNOWN), tallies(0, 5), [finding(1, 5)])
    assert result.exit is GateExit.NO_EVIDENCE
    assert rates(result) == [(None, 5)]


def test_excused_failures_count_only_where_they_happened() -> None:
    mixed = [*tallies(50, 5), *tallies(50, 5, "crash", "Normalize"), *tallies(10, 0, "mutation")]
    rules = (
        Rule("crash", None, Limit(0.5, 1)),
        Rule("crash", "FuseOps", Limit(1.0, 1)),
        Rule(None, "Normalize", Limit(0.95, 1)),
    )
    result = judged(Policy(rules, KnownFindings((KNOWN,))), mixed, [finding(1, 5)])
    words = {ruling.subject: ruling.status for ruling in result.rulings if ruling.requirement is Requirement.PASS_RATE}
    assert words == {"crash": RulingStatus.OK, "FuseOps crash": RulingStatus.OK, "Normalize": RulingStatus.FAIL}
    assert [excused for _, excused in rates(result)] == [5, 5, 0]
    assert result.total.checks == 120


def test_a_rate_just_below_is_not_printed_as_reached() -> None:
    result = judged(policy(1.0, 1), tallies(999_999, 1), [])
    assert result.exit is GateExit.FAILED
    assert "pass rate 99.999% (at least 100%; 999999 of 1000000" in render(result)[0]


def test_too_few_passes_say_how_many_would_do() -> None:
    result = judged(policy(0.99, 1), tallies(50, 0), [])
    assert result.exit is GateExit.NO_EVIDENCE
    told = "SHORT crash: pass rate 100% (at least 99%; 50 of 50, 92.865% to 100%)"
    assert render(result)[0] == f"{told}; 381 passing checks without a failure would be enough"
    assert judged(policy(0.99, 1), tallies(381, 0), []).exit is GateExit.PASSED
    assert judged(policy(0.99, 1), tallies(380, 0), []).exit is GateExit.NO_EVIDENCE


def test_a_rule_may_only_note_new_findings_and_the_narrowest_decides() -> None:
    rules = (
        Rule("crash", None, Limit(new_findings=Weight.NOTE)),
        Rule("crash", "FuseOps", Limit(new_findings=Weight.FAIL)),
    )
    rows = [*tallies(9, 0), *tallies(9, 1, culprit="Normalize")]
    normalize = finding(1, culprit="Normalize")
    result = judged(Policy(rules, KnownFindings()), rows, [normalize])
    assert result.exit is GateExit.PASSED
    assert render(result)[-3].startswith("note  new finding 0000000001 S3? crash Normalize: boom")
    assert render(result)[-1].endswith(" checks, 1 new finding (1 noted), 0 known, 0 suspects")
    both = judged(Policy(rules, KnownFindings()), rows, [normalize, finding(2)])
    assert both.exit is GateExit.FAILED
    assert render(both)[-1].endswith(" checks, 2 new findings (1 noted), 0 known, 0 suspects")


def test_a_new_finding_is_named_with_its_family_and_without_a_count_that_says_nothing() -> None:
    met = replace(finding(2, count=0), traits=Traits("FuseOps"))
    lines = render(judged(Policy((), KnownFindings()), tallies(5, 0), [met]))
    assert lines[0].endswith(": boom")
    assert lines[1:3] == ["      script: repros/x.py", f"      family {met.family.id}"]
    wrong = Evidence("wrong-value", "results differ (reassociation)", expected="main: 1 at [0]", observed="2 there")
    assert replace(met, evidence=wrong).title == "wrong result: 2 there; expected main: 1 at [0]"


def test_the_title_of_two_runs_that_differ_says_which_run_the_other_module_differs_from() -> None:
    evidence = Evidence("not-equal", "another Function", expected="the module of the first run")
    title = replace(finding(2, oracle="determinism"), evidence=evidence).title
    assert title == "another Function; expected: the module of the first run"


def test_a_wrong_result_is_told_with_both_values_and_no_reason() -> None:
    numbers = ("[0]", "3.125 at index [0, 2]", "-1.5; 2 of 4 elements differ", "-1.5")
    evidence = Evidence(
        "wrong-value", "results differ (reassociation)", expected="output 0 of main is 3.125 at index [0, 2]",
        observed=numbers[2], details=Details(entry="main", numbers=numbers),
    )  # fmt: skip
    told = "wrong result: output 0 of main at [0, 2] is -1.5; expected 3.125 (2 of 4 elements differ)"
    assert replace(finding(2), evidence=evidence).title == told
    whole = replace(evidence, details=Details(entry="main", numbers=("[]", "1", "2", "2")))
    assert replace(finding(2), evidence=whole).title == "wrong result: the output of main is 2; expected 1"
    assert (
        readable("numeric: P: wrong-value: results differ (reassociation)") == "numeric: P: wrong-value: results differ"
    )
    assert readable("results differ (reassociation, integers)") == "results differ (integers)"
    assert readable("results differ (bit-exact)") == "results differ (bit-exact)"
    shaped = replace(evidence, kind="wrong-shape")
    assert replace(finding(2), evidence=shaped).title == "results differ"


def test_a_minimization_under_way_changes_nothing_that_is_shown() -> None:
    """The message is of the first case: beside it stood the module of another."""
    found, smaller = finding(2), Case("{}", (), 1)
    under_way = replace(found, state=FindingState.NEW, minimized=smaller)
    assert under_way.shown_case is found.case
    assert replace(under_way, state=FindingState.CONFIRMED).shown_case is smaller


def test_lines_say_what_decided_and_nothing_else() -> None:
    unseen = KnownFinding("00000000ff", "", "somewhere", "old")
    data = [*tallies(110, 1), *tallies(9, 0, "numeric"), Tally("crash", "FuseOps", "invalid", "harness error", 2)]
    rules = (Rule("crash", None, Limit(1.0, 100)), Rule("numeric", None, Limit(None, 5)))
    result = judged(Policy(rules, KnownFindings((KNOWN, unseen))), data, [finding(1), finding(2)])
    assert render(result) == [
        "FAIL  new finding 0000000002 S3? crash FuseOps: boom (1x)",
        "      script: repros/x.py",
        "known 0000000001 S3? crash FuseOps: boom (1x)",
        "      script: repros/x.py",
        "      on your list (https://example.org/1): reported",
        "note  the entry for 00000000ff in the policy (somewhere): did not occur",
        "note  campaign: 2 verdicts are invalid and do not count, mostly: harness error",
        "gate FAILED: TVM 0.27.0.post1, 120 checks, 1 new finding, 1 known, 0 suspects",
    ]


def test_many_findings_are_counted_not_listed_and_hide_no_rate() -> None:
    many = [finding(number) for number in range(100, 160)]
    known = tuple(KnownFinding(each.id, "", "r", "w") for each in many[:20])
    result = judged(Policy((Rule("crash", None, Limit(0.99)),), KnownFindings(known)), tallies(40, 60), many)
    lines = render(result)
    assert any(line.startswith("FAIL  crash: pass rate 50% (at least 99%") for line in lines)
    assert len([line for line in lines if line.startswith("FAIL  new finding")]) == 10
    assert "FAIL  and 30 more: --explain lists them" in lines
    assert "known 20 known findings (20 failures): --explain lists them" in lines
    assert len([line for line in explain(result) if line.startswith("FAIL  new finding")]) == 40


def test_findings_of_one_family_take_one_entry() -> None:
    """Eight findings of one sentence filled 24 lines."""
    alike = [replace(finding(number), traits=Traits("FuseOps")) for number in range(2, 6)]
    other = finding(6)  # not triaged, so nobody knows its family
    lines = render(judged(policy(), tallies(1, 5), [*alike, other]))
    (family,) = {each.family.id for each in alike}
    assert [line for line in lines if line.startswith("FAIL ")] == [
        "FAIL  new finding 0000000002 S3? crash FuseOps: boom (1x)",
        "FAIL  new finding 0000000006 S3? crash FuseOps: boom (1x)",
    ]
    assert lines[2:4] == [
        f"      family {family}",
        "      and 3 more of this family: 0000000003, 0000000004, 0000000005",
    ]
    assert "5 new findings in 2 families, " in lines[-1]
    assert all(any(each.id in line for line in explain(judged(policy(), tallies(1, 4), alike))) for each in alike)
    assert "4 new findings in 1 family, " in render(judged(policy(), tallies(1, 4), alike))[-1]
    many = [replace(finding(number), traits=Traits("FuseOps")) for number in range(2, 40)]
    (others,) = [line for line in render(judged(policy(), tallies(1, 38), many)) if "more of this family" in line]
    assert others.startswith("      and 37 more of this family: 0000000003, ")
    assert others.endswith(", ...")


def test_a_note_that_fails_comes_before_what_it_may_cause() -> None:
    said = f"{NOTE}The pass drops attributes, and {UNCOVERED}"
    rows = [*tallies(1, 1), Tally("postcondition", "FuseOps", "skip", said, 7)]
    lines = render(judged(structs.replace(policy(), notes=Weight.FAIL), rows, [finding(2)]))
    assert [line.split(":")[0] for line in lines[:2]] == [
        "FAIL  campaign", "FAIL  new finding 0000000002 S3? crash FuseOps"
    ]  # fmt: skip


def test_what_no_contract_speaks_of_is_noted_though_many_notes_are_cut() -> None:
    rows = [*tallies(1000, 0), Tally("postcondition", "FuseOps", "skip", f"{NOTE}it breaks 'keeps purity' (or not)", 7)]
    result = judged(noting(0.5), rows, [finding(number) for number in range(100, 112)])
    lines = render(result)
    assert result.exit is GateExit.PASSED
    assert "note  and 2 more: --explain lists them" in lines
    assert "note  campaign: FuseOps, in 7 modules: it breaks 'keeps purity' (or not)" in lines


@pytest.mark.parametrize(
    ("said", "weight", "code"),
    [
        (f"The pass drops attributes, and {UNCOVERED}.", Weight.FAIL, GateExit.FAILED),
        (f"The pass drops attributes, and {UNCOVERED}.", Weight.NOTE, GateExit.PASSED),
        ("Printed as TVMScript and parsed back, the output becomes a different module", Weight.FAIL, GateExit.PASSED),
    ],
)
def test_a_policy_may_fail_what_no_contract_of_the_users_covers(said: str, weight: Weight, code: GateExit) -> None:
    rows = [*tallies(1000, 0), Tally("postcondition", "FuseOps", "skip", f"{NOTE}{said}", 7)]
    result = judged(structs.replace(noting(0.5), notes=weight), rows, [])
    assert result.exit is code
    lines = render(result)
    assert f"{'FAIL ' if code else 'note '} campaign: FuseOps, in 7 modules: {said}" in lines
    why = f"{' by' if code else ', with'} 1 note (the pass drops attributes)" if UNCOVERED in said else ""
    assert lines[-1].startswith(f"gate {'FAILED' if code else 'passed'}{why}: TVM ")


def test_a_finding_of_a_program_that_does_not_build_says_that_nothing_was_computed() -> None:
    unbuilt = replace(finding(2, oracle="numeric"), evidence=Evidence("does-not-build", "KeyError"))
    line = render(judged(policy(oracle="numeric"), tallies(1, 1, "numeric"), [unbuilt]))[0]
    assert line.startswith("FAIL  new finding 0000000002 ")
    assert " numeric (does not build) FuseOps: " in line


def test_a_finding_of_an_exception_names_it_and_the_line_that_raised_it() -> None:
    """A title may leave out both, as one that names an operator does."""
    at = "shop/passes.py:22 in visit_call_: if int(call.ty.shape.values[0]) == 1:"
    raised = Evidence("TypeError", "int() argument must be a string\nmore", details=Details(raised_at=("outer", at)))
    found = replace(finding(2), evidence=raised)
    lines = render(judged(policy(), tallies(1, 1), [found]))
    assert lines[1] == f"      TypeError: int() argument must be a string; raised at {at}"
    printed = replace(raised, message="int() argument of rank 3\nmore")  # by the script of the minimized case
    words = words_of(replace(found.verdict, evidence=printed), "FuseOps fails")
    lines = render(judged(policy(), tallies(1, 1), [replace(found, parts=ScriptParts("", False, words))]))
    assert lines[1] == f"      TypeError: int() argument of rank 3; raised at {at}"


@pytest.mark.parametrize("weight", list(Weight))
def test_notes_end_with_one_line_to_paste_and_the_key_that_makes_them_fail(weight: Weight) -> None:
    rows = [*tallies(1000, 0)]
    for kept in ("PURITY", "KERNELS"):
        said = uncovered(
            f"The pass drops {kept}", "FuseOps", f"changes=frozenset({{Kept.{kept}}})", "changes=frozenset()"
        )
        rows.append(Tally("postcondition", "FuseOps", "skip", f"{NOTE}{said}", 7))
    lines = render(judged(structs.replace(noting(0.5), notes=weight), rows, []))
    (line,) = (each for each in lines if "default_contract" in each)
    assert line == (
        'note  campaign: To allow this, add: `FuseOps.contract = replace(default_contract("FuseOps"), '
        "changes=frozenset({Kept.PURITY, Kept.KERNELS}))`. To make the pass promise not to do this, "
        "write `changes=frozenset()` in that assignment instead."
    )
    assert (f"note  campaign: {STRICT}" in lines) is (weight is Weight.NOTE)


def test_explain_shows_the_numbers_of_everything() -> None:
    lines = explain(judged(policy(0.5, 10, KNOWN), tallies(80, 20), [finding(1, 20)]))
    text = " ".join(" ".join(lines).split())
    assert lines[0] == "campaign: seed 7, finished: 100 cases, 10 modules, 1100 verdicts"
    assert "min_checks: checks 100, limit 10, verdicts 1100" in text
    assert "min_pass_rate: rate 1, limit 0.5, low 0.954182, high 1, passed 80, failed 20, excused 20, judged 80" in text
    assert "new_findings: count 20" in text
    assert all(len(line) <= 80 for line in lines if line.startswith("        "))


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (CampaignState.RUNNING, "it is still running: 60 s (100 cases) of 1m so far; judge it again when it has ended"),
        (CampaignState.INTERRUPTED, "it was interrupted after 60 s (100 cases) of 1m; to resume it, run the same"),
        (
            CampaignState.KILLED,
            "it did not shut down cleanly (was it killed?); recorded: 60 s (100 cases) of 1m; to resume it,",
        ),
    ],
)
def test_a_campaign_that_did_not_run_to_its_end_is_not_enough_evidence(state: CampaignState, said: str) -> None:
    result = judged(policy(1.0, 1), tallies(1, 0), [], state=state)
    assert result.exit is GateExit.NO_EVIDENCE
    assert any(line.startswith(f"SHORT campaign: {said}") for line in render(result))
    assert judged(policy(1.0, 1), tallies(1, 0), []).exit is GateExit.PASSED
    assert judged(policy(1.0, 1), tallies(1, 1), [finding(2)], state=state).exit is GateExit.FAILED


def test_json_holds_the_same() -> None:
    result = judged(policy(1.0, 100, KNOWN), tallies(10, 2), [finding(1), finding(2)])
    values = json.loads(json.dumps(as_json(result)))
    assert (values["exit"], values["verdict"]) == (1, "failed")
    assert values["rules"][0]["pass_rate"] == pytest.approx(10 / 11)
    assert values["rules"][0]["raw_pass_rate"] == pytest.approx(10 / 12)
    assert values["rules"][0]["verdict"] == "failed"
    assert [row["id"] for row in values["new"]] == ["0000000002"]
    assert values["known"][0]["reference"] == "https://example.org/1"
    (row,) = [row for row in values["rulings"] if row["demand"] == "min_checks"]
    assert (row["word"], row["subject"], row["numbers"]["checks"]) == ("short", "crash", 12)


def test_hostile_names_stay_on_their_line() -> None:
    hostile = replace(finding(2, culprit="a\x1b[31m\nFAIL"), note="x\ny")
    lines = render(judged(policy(None, 1), tallies(9, 1, culprit=hostile.culprit), [hostile]))
    assert not any("\x1b" in line or "\n" in line for line in lines)


def test_failures_of_questions_are_excused_unless_the_policy_counts_them() -> None:
    asked = replace(finding(2, 5), assessed=Assessment(EvidenceClass.OURS, Severity.S5, "FuseOps", final=True))
    result = judged(policy(1.0, 1), tallies(95, 5), [asked])
    assert (result.exit, rates(result)) == (GateExit.PASSED, [(1.0, 5)])
    assert any(line.startswith("question 0000000002 S5 crash FuseOps") for line in render(result))
    assert render(result)[-1].endswith("0 new findings, 0 known, 1 question, 0 suspects")
    assert [row["class"] for row in as_json(result)["questions"]] == ["ours"]
    strict = judged(structs.replace(policy(1.0, 1), questions=Weight.FAIL), tallies(95, 5), [asked])
    assert (strict.exit, [each.id for each in strict.findings.new]) == (GateExit.FAILED, ["0000000002"])


def test_a_rule_of_a_pass_reads_the_counts_of_that_pass_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    holds = GateSubject.holds
    monkeypatch.setattr(GateSubject, "holds", lambda *given: asked.append(given) or holds(*given))
    found = measured(
        INFO, [row for number in range(300) for row in tallies(1, 1, culprit=f"P{number}")], [], {"P1": (4, 2)}
    )
    for number in range(300):
        subject = GateSubject(None, f"P{number}")
        assert found.count(subject).verdicts == 1002
        assert found.reasons(subject, Outcome.SKIP) == [("why", 1000)]
        assert found.trigger(subject) == ((4, 2) if number == 1 else (0, 0))
    assert len(asked) == 300
    assert found.count(GateSubject("crash")).verdicts == 300 * 1002
    assert found.reasons(GateSubject(), Outcome.SKIP) == [("why", 300_000)]
    assert found.count(GateSubject(None, "P300")).verdicts == 0
