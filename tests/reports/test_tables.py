import pytest

from oracles.verdict import Outcome
from reports.tables import Report, counted, duration, oracle_rows, pass_rows, percent, reason_rows


def test_oracle_rows_keep_the_oracles_order_and_add_up(report: Report) -> None:
    crash, numeric = oracle_rows(report.tallies)
    assert (crash.name, crash.passed, crash.failed, crash.rejected) == ("crash", 190, 12, 4)
    assert (numeric.name, numeric.passed, numeric.skipped, numeric.invalid) == ("numeric", 50, 10, 1)
    assert crash.rate == pytest.approx(190 / 202)


def test_a_rate_without_checks_is_unknown(report: Report) -> None:
    rows = {row.name: row for row in pass_rows(report.tallies, "numeric")}
    assert rows["LegalizeOps"].rate is None
    assert rows["FuseOps"].rate == 1.0


def test_reasons_by_frequency(report: Report) -> None:
    rows = reason_rows(report.tallies)
    assert [row.count for row in rows] == [7, 4, 3, 1]
    assert (rows[0].reason, rows[0].outcome) == ("pass changed nothing", Outcome.SKIP)
    assert len(reason_rows(report.tallies, 2)) == 2


def test_open_findings_come_first(report: Report) -> None:
    assert [finding.id[-1] for finding in report.findings] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("rate", "text"), [(None, "-"), (1.0, "100.00 %"), (0.99999, "99.99 %"), (0.57, "57.00 %"), (0.0, "0.00 %")]
)
def test_percent_never_rounds_up(rate: float | None, text: str) -> None:
    assert percent(rate) == text


def test_small_texts() -> None:
    assert [duration(s) for s in (0.4, 59.4, 60, 605, 3600, 7384)] == [
        "0 s", "59 s", "1 min 00 s", "10 min 05 s", "1 h 00 min", "2 h 03 min",
    ]  # fmt: skip
    assert (counted(1, "finding"), counted(0, "finding")) == ("1 finding", "0 findings")
