"""Statistics of one rate or two, from counts: Wilson's interval, Fisher's exact test, Tarone's correction.

Few lines each, so no dependency is taken for them; the tests hold the values that R and the papers give.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

_WIDE = 1e4
"""Variance from which the distribution is taken for a normal one; of thousands of tables its terms are too many."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The rates that a count does not contradict.

    Attributes:
        low: Lower end, 0 to 1.
        high: Upper end, 0 to 1.
    """

    low: float
    high: float


def wilson(hits: int, total: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval for a proportion (E. B. Wilson, JASA 22, 1927).

    It holds its level near 0 and 1, where pass rates are and where the textbook interval has no width at all: 20 of 20
    say that the rate is at least 0.839, not that it is 1.

    Args:
        hits: What counts.
        total: Out of how many; without any nothing is excluded.
        confidence: Of the two-sided interval; its lower end alone has ``(1 + confidence) / 2``.
    """
    if total == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate, share = hits / total, z * z / total
    centre = rate + share / 2
    width = z * math.sqrt(rate * (1 - rate) / total + share / (4 * total))
    # At the ends the formula gives exactly 0 and 1, but for rounding.
    low = 0.0 if hits == 0 else max(0.0, (centre - width) / (1 + share))
    high = 1.0 if hits == total else min(1.0, (centre + width) / (1 + share))
    return Interval(low, high)


def needed_without_failure(rate: float, confidence: float = 0.95) -> int:
    """Count the checks, all of them passes, that lift the lower end of Wilson's interval to a rate below 1."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    return max(1, math.ceil(z * z * rate / (1 - rate) - 1e-9))


@dataclass(frozen=True, slots=True)
class Table:
    """Two samples, counted: did hits become more frequent?

    Attributes:
        hits: Of the sample that is judged.
        total: Its size.
        base_hits: Of the sample that it is compared with.
        base_total: Its size.
    """

    hits: int
    total: int
    base_hits: int
    base_total: int

    def p_value(self) -> float:
        """Chance of at least so many of all hits in the judged sample, were both samples of one kind.

        Fisher's exact test, one-sided: the upper tail of the hypergeometric distribution.  The normal approximation is
        wrong where it matters here, at a handful of failures among thousands of checks.
        """
        return self._tail(self.hits)

    def least_p_value(self) -> float:
        """The p-value if all hits there are had fallen into the judged sample: no outcome can say more."""
        return self._tail(min(self.hits + self.base_hits, self.total))

    def _tail(self, start: int) -> float:
        """Chance of ``start`` hits or more."""
        first = max(0, self.hits + self.base_hits - self.base_total)
        if start <= first or not self.total or not self.base_total:
            return 1.0
        marked, both = self.hits + self.base_hits, self.total + self.base_total
        mean = self.total * marked / both
        variance = mean * (self.base_total / both) * ((both - marked) / max(1, both - 1))
        if variance > _WIDE:
            return NormalDist(mean, math.sqrt(variance)).cdf(2 * mean - start + 0.5)
        # From the side where the terms only fall: they end soon, and one too small for a float is nothing.
        if start > mean:
            return min(1.0, self._above(start))
        return 1.0 - Table(self.base_hits, self.base_total, self.hits, self.total)._above(marked - start + 1)

    def _above(self, start: int) -> float:
        marked = self.hits + self.base_hits
        term = found = self._chance(start)
        for count in range(start, min(marked, self.total)):
            if term <= found * 1e-12:
                break
            term *= (marked - count) * (self.total - count) / ((count + 1) * (self.base_total - marked + count + 1))
            found += term
        return found

    def _chance(self, count: int) -> float:
        marked = self.hits + self.base_hits
        unmarked = self.total + self.base_total - marked
        ways = _log_choose(marked, count) + _log_choose(unmarked, self.total - count)
        return math.exp(ways - _log_choose(self.total + self.base_total, self.total))


def significance_each(tables: Sequence[Table], false_alarms: float) -> float:
    """The level for each comparison so that the chance of any false alarm is at most ``false_alarms``.

    Bonferroni's bound, without the comparisons that could not be significant whatever had happened (R. E. Tarone,
    Biometrics 46, 1990): of a thousand pairs of pass and oracle most never failed, and those say nothing, so they need
    not be paid for.
    """
    least = sorted(table.least_p_value() for table in tables)
    # The smallest divisor that is no smaller than the number of comparisons that can be significant under it.
    for divisor in range(1, len(least) + 1):
        if bisect_right(least, false_alarms / divisor) <= divisor:
            return false_alarms / divisor
    return false_alarms


def _log_choose(total: int, chosen: int) -> float:
    return math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)
