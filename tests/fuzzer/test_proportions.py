"""The statistics of the gate, against published values and against counting out."""

import math
import time

import pytest

from fuzzer.gate import statistics
from fuzzer.gate.measured import Cell, MeasuredCampaign, SeenFinding
from fuzzer.gate.policy import Comparing
from fuzzer.gate.regressions import compare
from fuzzer.gate.statistics import Table, needed_without_failure, significance_each, wilson
from fuzzer.store.records import CampaignInfo, CampaignState


@pytest.mark.parametrize(
    ("hits", "total", "low", "high"),
    [
        # R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3; the last is the third mirrored.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (20, 20, 0.8389, 1.0),
    ],
)
def test_wilson_as_published(hits: int, total: int, low: float, high: float) -> None:
    interval = wilson(hits, total)
    assert (interval.low, interval.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_wilson_says_nothing_without_evidence_and_keeps_its_ends() -> None:
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)
    assert wilson(0, 7).low == 0.0
    assert wilson(7, 7).high == 1.0
    assert wilson(999_999, 1_000_000).low < 0.999999 < wilson(999_999, 1_000_000).high


@pytest.mark.parametrize("rate", [0.0, 0.5, 0.98, 0.99, 0.995, 0.9999])
def test_needed_is_the_least_number_that_suffices(rate: float) -> None:
    needed = needed_without_failure(rate)
    assert wilson(needed, needed).low >= rate
    assert needed == 1 or wilson(needed - 1, needed - 1).low < rate


def counted_out(hits: int, total: int, base_hits: int, base_total: int) -> float:
    marked, everything = hits + base_hits, total + base_total
    ways = sum(
        math.comb(marked, count) * math.comb(everything - marked, total - count)
        for count in range(hits, min(marked, total) + 1)
        if total - count <= everything - marked
    )
    return ways / math.comb(everything, total)


@pytest.mark.parametrize("hits", range(0, 13, 2))
@pytest.mark.parametrize(("total", "base_hits", "base_total"), [(12, 3, 40), (40, 8, 12), (12, 0, 12), (300, 12, 200)])
def test_fisher_is_exact(hits: int, total: int, base_hits: int, base_total: int) -> None:
    table = Table(hits, total, base_hits, base_total)
    assert table.p_value() == pytest.approx(counted_out(hits, total, base_hits, base_total), rel=1e-9)


def test_fisher_of_large_samples_is_normal(monkeypatch: pytest.MonkeyPatch) -> None:
    many = 1 << 48
    assert Table(many // 2, many, many // 2, many).p_value() == pytest.approx(0.5, abs=1e-6)
    assert Table(many // 2 + 1, many, many // 3, many).p_value() == 0.0
    exact = Table(50_100, 100_000, 50_000, 100_000).p_value()
    monkeypatch.setattr(statistics, "_WIDE", 1.0)
    assert Table(50_100, 100_000, 50_000, 100_000).p_value() == pytest.approx(exact, rel=1e-3)


def test_fisher_of_the_lady_who_tastes_tea() -> None:
    assert Table(3, 4, 1, 4).p_value() == pytest.approx(17 / 70)  # R. A. Fisher, The Design of Experiments, 1935


def test_fisher_of_extreme_counts_is_quick_and_not_wrong() -> None:
    assert Table(0, 1_000_000, 500_000, 1_000_000).p_value() == 1.0
    assert Table(1000, 1_000_000, 500_000, 1_000_000).p_value() == pytest.approx(1.0)
    assert Table(500_000, 1_000_000, 0, 1_000_000).p_value() < 1e-300
    assert Table(3, 1_000_000, 0, 1_000_000).p_value() == pytest.approx(0.125, rel=1e-5)


@pytest.mark.parametrize("table", [Table(0, 0, 5, 10), Table(5, 10, 0, 0), Table(0, 10, 0, 10)])
def test_nothing_to_compare_is_no_evidence(table: Table) -> None:
    assert (table.p_value(), table.least_p_value()) == (1.0, 1.0)


def test_comparisons_that_cannot_decide_are_not_paid_for() -> None:
    silent = [Table(0, 1000, 0, 1000)] * 997
    loud = [Table(30, 1000, 30, 1000)] * 3
    assert significance_each([*silent, *loud], 0.01) == pytest.approx(0.01 / 3)
    assert significance_each(silent, 0.01) == 0.01
    assert significance_each([], 0.01) == 0.01


def test_only_those_that_can_be_significant_at_the_divided_level_count() -> None:
    # Equal samples of 20, where all of four hits fall into one by a chance of 0.053 and all of eight by 0.0016.
    tables = [Table(hits, 20, 0, 20) for hits in (1, 2, 3, 4, 8, 9, 10, 11, 12)]
    assert significance_each(tables, 0.05) == pytest.approx(0.05 / 5)


def test_thousands_of_comparisons_are_quick() -> None:
    begun = time.process_time()
    least = [Table(100, 200, 100, 200)] * 20_900
    assert significance_each(least, 0.01) == pytest.approx(0.01 / 20_900)
    for size in (7 * 10**4, 10**6, 10**8):
        for more in range(200):
            assert 0 < Table(size // 2 + more, size, size // 2, size).p_value() <= 0.6
    assert time.process_time() - begun < 5  # it took more than ten


def test_a_campaign_of_many_passes_is_compared_quickly() -> None:
    cells = {(f"o{oracle}", f"p{each}"): Cell(100, 100) for oracle in range(11) for each in range(1900)}
    info = CampaignInfo(
        1,
        "2026-01-01",
        1.0,
        9,
        9,
        1,
        "0",
        "0",
        tuple(f"p{each}" for each in range(1900)),
        (),
        CampaignState.FINISHED,
        "",
    )
    seen = [SeenFinding("0123456789", "s", "o1", f"p{each % 1900}", 1) for each in range(4000)]
    measured = MeasuredCampaign(info, cells, {}, seen)
    begun = time.process_time()
    rulings = compare(measured, measured, lambda _: True, Comparing())
    assert len(rulings) == 1 + 11 + 1900 + 11 * 1900
    assert time.process_time() - begun < 8  # it took a minute
