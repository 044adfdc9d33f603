"""The weights of passes even out what modules give passes to do."""

from __future__ import annotations

from collections import Counter

from fuzzer.config import Config
from fuzzer.drawing import MOST_AIMED, _lowered_passes, draw_subjects
from fuzzer.preparation import pass_names
from oracles.verdict import OracleName
from strategies.effort import AIMED_AT, DRAWN
from strategies.fitness import NEAR
from strategies.idioms.table import for_passes
from strategies.module_facts import facts_of
from strategies.passes import weight_of

MODULES = 240


def test_weights_name_passes_that_are_drawn_and_aimed_at() -> None:
    assert set(DRAWN) <= set(pass_names())
    assert set(AIMED_AT) <= set(for_passes())
    assert min(*DRAWN.values(), *AIMED_AT.values()) >= 1


def test_no_pass_is_starved() -> None:
    config = Config(11, pass_names(), (), tuple(OracleName), None, 1.0, 1)
    tried: Counter[str] = Counter()
    for shard in range(MODULES // 6):
        for number in range(6):
            drawn = draw_subjects(config, shard, number)
            assert drawn is not None
            tried.update(passes[0].name for passes in drawn.pipelines if len(passes) == 1)
    mean = tried.total() / len(config.passes)
    assert mean > 20
    starved = {name: tried[name] for name in config.passes if tried[name] < mean / 3}
    assert not starved


def test_every_pass_that_an_idiom_was_planted_for_is_tried() -> None:
    config = Config(5, pass_names(), (), tuple(OracleName), None, 1.0, 1)
    several = 0
    for shard in range(12):
        for number in range(6):
            drawn = draw_subjects(config, shard, number)
            assert drawn is not None
            facts = facts_of(drawn.candidate.module, drawn.candidate.idioms)
            tried = {passes[0].name for passes in drawn.pipelines if len(passes) == 1}
            # A module is tried in one stage: as it is, or lowered.
            lowered = bool(tried & _lowered_passes())
            aimed = {name for name in config.passes if weight_of(name, facts) >= NEAR}
            aimed = {name for name in aimed if (name in _lowered_passes()) is lowered}
            if 1 < len(aimed) <= MOST_AIMED:
                several += 1
                assert aimed <= tried
    assert several > 5
