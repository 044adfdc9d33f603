from dataclasses import replace

import pytest
from sample_findings import finding

from fuzzer.core.text import counted
from fuzzer.store.known import KnownAs
from fuzzer.store.records import Tally
from fuzzer.store.writer import FindingState as State
from oracles.core.verdict import NOT_ASKED, Outcome
from reports.markdown import render_markdown
from reports.tables import (
    Report,
    agreements,
    agreements_text,
    duration,
    oracle_rows,
    pass_rows,
    percent,
    reason_rows,
    states_text,
)


def test_oracle_rows_keep_the_oracles_order_and_add_up(report: Report) -> None:
    crash, numeric = oracle_rows(report.tallies)
    assert (crash.name, crash.passed, crash.failed, crash.counts[Outcome.REJECT]) == ("crash", 190, 12, 4)
    assert (numeric.name, *numeric.counts.values()) == ("numeric", 50, 0, 10, 0, 1)
    assert crash.rate == pytest.approx(190 / 202)


def test_a_rate_without_checks_is_unknown(report: Report) -> None:
    rows = {row.name: row for row in pass_rows(report.tallies, "numeric")}
    assert rows["LegalizeOps"].rate is None
    assert rows["FuseOps"].rate == 1.0


def test_reasons_by_frequency(report: Report) -> None:
    rows = reason_rows(report.tallies)
    assert [row.number for row in rows] == [7, 4, 3, 1]
    assert (rows[0].reason, rows[0].outcome) == ("pass changed nothing", Outcome.SKIP)
    assert len(reason_rows(report.tallies, 2)) == 2


def test_what_was_left_out_on_purpose_comes_last(report: Report) -> None:
    left = Tally("locality", "FuseOps", "skip", NOT_ASKED, 900)
    assert [row.number for row in reason_rows([*report.tallies, left])] == [7, 4, 3, 1, 900]


def test_agreements_say_how_they_were_reached() -> None:
    tallies = [
        Tally("numeric", "FuseOps", "pass", "proved", 3),
        Tally("numeric", "FuseTIR", "pass", "executed", 2),
        Tally("numeric", "FuseTIR", "skip", "no output", 9),
        Tally("crash", "FuseTIR", "pass", "", 5),
    ]
    assert agreements_text(tallies) == "Results agree: 3 proved for all inputs, 0 interpreted, 2 executed"
    assert agreements_text(tallies[2:]) == ""


def test_open_findings_come_first_and_suspects_last(report: Report) -> None:
    assert [finding.id[-1] for finding in report.findings] == ["1", "3", "2"]


@pytest.mark.parametrize(
    ("states", "text"),
    [
        ({}, "0 findings"),
        ({State.CONFIRMED: 1}, "1 finding: 1 confirmed"),
        ({State.NEW: 2, State.KNOWN: 1, State.CONFIRMED: 9}, "12 findings: 9 confirmed, 2 untriaged, 1 known"),
        ({State.FLAKY: 1}, "0 findings; 1 suspect: 1 flaky"),
        (
            {State.FLAKY: 1, State.CONFIRMED: 9, State.UNSCRIPTED: 2},
            "9 findings: 9 confirmed; 3 suspects: 2 unscripted, 1 flaky",
        ),
    ],
)
def test_suspects_are_counted_apart(states: dict[State, int], text: str) -> None:
    kinds = [state for state, count in states.items() for _ in range(count)]
    assert states_text([finding(1, "FuseOps", state, "crash", "boom") for state in kinds], {}) == text


def test_what_was_listed_later_is_counted_as_known(report: Report) -> None:
    first = report.findings[0]
    assert first.state is not State.KNOWN
    listed = {first.id: KnownAs("issue 7", "It fails.", listed=True)}
    assert states_text([first], {}) == "1 finding: 1 confirmed"
    assert states_text([first], listed) == "1 finding: 1 known", "as the table's column has it"
    text = render_markdown(replace(report, findings=[first], recognized=listed), lambda _: "")
    assert "\n1 finding: 1 known.\n" in text


@pytest.mark.parametrize(
    ("rate", "text"), [(None, "-"), (1.0, "100.00%"), (0.99999, "99.99%"), (0.57, "57.00%"), (0.0, "0.00%")]
)
def test_percent_never_rounds_up(rate: float | None, text: str) -> None:
    assert percent(rate) == text


def test_small_texts() -> None:
    assert [duration(s) for s in (0.4, 59.4, 60, 605, 3600, 7384)] == [
        "0 s", "59 s", "1 min 00 s", "10 min 05 s", "1 h 00 min", "2 h 03 min",
    ]  # fmt: skip
    assert (counted(1, "finding"), counted(0, "finding")) == ("1 finding", "0 findings")


def test_a_reason_that_this_version_does_not_know_is_no_way_to_agree() -> None:
    tallies = [Tally("numeric", "FuseOps", Outcome.PASS.value, reason, 3) for reason in ("proved", "by magic", "")]
    assert {way.value: count for way, count in agreements(tallies).items() if count} == {"proved": 3}
