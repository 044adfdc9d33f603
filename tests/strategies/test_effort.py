"""The weights of passes even out what modules give passes to do."""

from __future__ import annotations

import random
from collections import Counter

from fuzzer.campaign.setup import pass_names
from fuzzer.core.config import Config
from fuzzer.shard.draw import MOST_AIMED, draw_subjects
from relaxkit.passes.contract import OracleName
from relaxkit.passes.ordering import LEGALIZING
from strategies.detect.module_facts import facts_of
from strategies.idioms import planting
from strategies.idioms.planting import SIMPLEST, for_passes
from strategies.pass_arguments.row import EVEN_AIMED, NEAR
from strategies.pass_arguments.table import ROWS
from strategies.passes import weight_of
from strategies.scope.choices import Choices
from strategies.scope.features import ON_DEMAND

MODULES = 120


def test_weights_are_of_passes_that_idioms_are_planted_for() -> None:
    assert {row.name for row in ROWS if row.aimed_weight != EVEN_AIMED} <= set(for_passes())
    assert min(min(row.weight, row.aimed_weight) for row in ROWS) >= 1


def test_no_pass_is_starved() -> None:
    config = Config(11, pass_names(), (), tuple(OracleName), None, 1.0, 1)
    tried: Counter[str] = Counter()
    for shard in range(MODULES // 6):
        for number in range(6):
            drawn = draw_subjects(config, shard, number)
            assert drawn is not None
            tried.update(passes[0].name for passes in drawn.pipelines if len(passes) == 1)
    mean = tried.total() / len(config.passes)
    assert mean > 10
    starved = {name: tried[name] for name in config.passes if tried[name] < mean / 3}
    assert not starved


def test_every_pass_that_an_idiom_was_planted_for_is_tried() -> None:
    config = Config(5, pass_names(), (), tuple(OracleName), None, 1.0, 1)
    several = 0
    for shard in range(12):
        for number in range(6):
            drawn = draw_subjects(config, shard, number)
            assert drawn is not None
            facts = facts_of(drawn.module, drawn.idioms)
            tried = {passes[0].name for passes in drawn.pipelines if len(passes) == 1}
            # A module is tried in one stage: as it is, or lowered.
            lowered = bool(tried & LEGALIZING)
            aimed = {name for name in config.passes if weight_of(name, facts) >= NEAR}
            aimed = {name for name in aimed if (name in LEGALIZING) is lowered}
            if 1 < len(aimed) <= MOST_AIMED:
                several += 1
                assert aimed <= tried
    assert several > 5


def test_passes_whose_idioms_are_all_forbidden_take_no_turn_of_others() -> None:
    weights = Counter({SIMPLEST: 1, "PropagateSharding": 99})
    source = random.Random(0)
    for _ in range(20):
        choices = Choices(lambda _: source.randbytes(8))
        assert len(planting.aimed(choices, 2, weights, ON_DEMAND, executable=False)) == 2
