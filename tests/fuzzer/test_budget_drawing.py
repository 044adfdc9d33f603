"""What shares of the budget do to draws: passes come more and less often, modules stay."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from fuzzer.budget import LEAST_SHARE, MOST_SHARE, Budget
from fuzzer.config import Config
from fuzzer.drawing import Subjects, draw_subjects, fingerprint
from fuzzer.pool import LEAST_EFFORT, MOST_EFFORT, Pool
from fuzzer.preparation import pass_names
from oracles.verdict import OracleName
from strategies.fitness import NEAR
from strategies.module_facts import facts_of
from strategies.passes import weight_of

COUNT = 60
RICH = tuple(name for name in pass_names() if not name.startswith("build:"))[::7]
SHARES = {name: MOST_SHARE if name in RICH else LEAST_SHARE for name in pass_names()}


def config() -> Config:
    return Config(3, pass_names(), (), tuple(OracleName), 1, None, 1, budget=Budget.YIELD)


@functools.cache
def tried(rich: bool) -> tuple[Counter[str], list[int]]:
    """How often each pass is tried alone, and the modules."""
    times: Counter[str] = Counter()
    modules = []
    for number in range(COUNT):
        subjects = draw_subjects(config(), 1, number, None, SHARES if rich else None)
        assert subjects is not None
        times.update(row[0].name for row in subjects.pipelines if len(row) == 1)
        modules.append(fingerprint(subjects.module))
    return times, modules


def test_shares_decide_how_often_a_pass_is_tried_and_no_more() -> None:
    (even, modules), (rich, same) = tried(False), tried(True)
    assert same == modules
    assert sum(rich.values()) == sum(even.values())
    assert sum(rich[name] for name in RICH) > 1.5 * sum(even[name] for name in RICH)
    assert len(rich) > len(even) / 2, "the others are tried as well"


def test_the_pass_that_a_module_is_made_for_follows_them_too() -> None:
    def first(shares: Mapping[str, int] | None) -> list[bool]:
        drawn = [draw_subjects(config(), 2, number, None, shares) for number in range(COUNT)]
        return [each.pipelines[0][0].name in RICH for each in drawn if each is not None and made_for_both(each)]

    assert len(first(None)) > 3
    assert sum(first(SHARES)) > sum(first(None))


def made_for_both(subjects: Subjects) -> bool:
    """Whether a module has something for a rich pass and for another one, so that either is tried for certain."""
    facts = facts_of(subjects.module, subjects.idioms)
    return len({name in RICH for name in pass_names() if weight_of(name, facts) >= NEAR}) == 2


def test_no_shares_are_even_ones() -> None:
    for number in range(8):
        none: Mapping[str, int] = {}
        rows = [
            draw_subjects(each, 1, number, None, shares)
            for each in (config(), replace(config(), budget=Budget.EVEN))
            for shares in (None, none)
        ]
        assert len({each.pipelines for each in rows if each is not None}) == 1


def test_the_budget_has_the_say_over_what_guidance_makes_of_passes() -> None:
    efforts = {name: LEAST_EFFORT if name in RICH else MOST_EFFORT for name in pass_names()}
    for number in range(8):
        alone = draw_subjects(config(), 1, number, None, SHARES)
        both = draw_subjects(config(), 1, number, Pool(effort=efforts), SHARES)
        guided = draw_subjects(replace(config(), budget=Budget.EVEN), 1, number, Pool(effort=efforts))
        assert alone is not None
        assert both is not None
        assert guided is not None
        assert both.pipelines == alone.pipelines
        assert guided.pipelines != alone.pipelines, "or else this says little"
