"""Two samples compared by ranks: the Mann-Whitney test and the effect size A12, without SciPy."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence

MOST_EXACT = 200_000
"""Up to so many ways to deal the values out, all of them are counted; beyond, the normal approximation serves."""


def a12(left: Sequence[float], right: Sequence[float]) -> float:
    """Chance that a value of ``left`` is above one of ``right``, ties counted half (Vargha and Delaney, 2000)."""
    above = sum((x > y) + (x == y) / 2 for x in left for y in right)
    return above / (len(left) * len(right))


def mann_whitney(left: Sequence[float], right: Sequence[float]) -> float:
    """Two-sided p of the Mann-Whitney test: exact, ties included, where that can be counted."""
    n, m = len(left), len(right)
    u = a12(left, right) * n * m
    middle = n * m / 2
    if math.comb(n + m, n) <= MOST_EXACT:
        ranks = _ranks([*left, *right])
        far = abs(u - middle)
        base = n * (n + 1) / 2
        ways = [sum(chosen) - base for chosen in itertools.combinations(ranks, n)]
        return sum(abs(way - middle) >= far - 1e-9 for way in ways) / len(ways)
    ties = sum(count**3 - count for count in Counter([*left, *right]).values())
    total = n + m
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance == 0:
        return 1.0
    return min(1.0, math.erfc((abs(u - middle) - 0.5) / math.sqrt(2 * variance)))


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; equal values share the mean of theirs."""
    below = sorted(values)
    first = {value: index for index, value in reversed(list(enumerate(below, start=1)))}
    times = Counter(values)
    return [first[value] + (times[value] - 1) / 2 for value in values]
