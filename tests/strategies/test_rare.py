"""Rare idioms stand in the modules that are asked for them, make their pass act, and are in no other module."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from idiom_modules import acts
from tvm import relax

from oracles.core.module_facts import complaint
from relaxkit.ir.types import flat
from relaxkit.ir.walk import expressions_in, operator_of
from relaxkit.runtime.run import plain_build
from strategies.detect.module_facts import facts_of
from strategies.idioms import IDIOMS, RARE, Idiom
from strategies.idioms.planting import for_passes, passes_for
from strategies.modules import described_modules
from strategies.pass_arguments.row import AIMED
from strategies.pass_arguments.table import fitness
from strategies.passes import PASS_ROWS, weight_of
from strategies.scope.choices import Choices
from strategies.scope.features import Feature
from strategies.scope.from_bytes import draw_and_bytes, draws_of

COUNT = 12


def drawn(name: str, seed: int = 0, count: int = COUNT) -> list[Any]:
    source = random.Random(f"{name}{seed}")
    found = (draw_and_bytes(described_modules(rare=name), source.randbytes(16 << 10)) for _ in range(count))
    return [each[0] for each in found if each is not None]


@pytest.mark.parametrize("idiom", RARE, ids=lambda idiom: idiom.name)
def test_a_module_that_is_asked_for_one_holds_it(idiom: Idiom) -> None:
    modules = drawn(idiom.name)
    held = [each for each in modules if idiom.name in each.idioms]
    assert len(held) > COUNT * 2 // 3
    assert not any(complaint(each.module) for each in modules)
    assert all(set(idiom.acts_on) <= set(passes_for(idiom.name)) for _ in held)
    facts = [facts_of(each.module, each.idioms) for each in held]
    assert any(weight_of(name, each) == AIMED for name in idiom.acts_on for each in facts)
    if Feature.NON_EXECUTABLE not in idiom.needs:
        plain_build(next(each.module for each in held if each.executable))


@pytest.mark.parametrize(
    ("idiom", "name"), [(idiom, name) for idiom in RARE for name in idiom.acts_on], ids=lambda each: str(each)[:40]
)
def test_its_pass_acts(idiom: Idiom, name: str) -> None:
    described = drawn(idiom.name, 1, 4 * COUNT)
    modules = [(each.module, facts_of(each.module, each.idioms)) for each in described]
    meant = [(module, facts) for module, facts in modules if fitness(name, facts) == AIMED][:COUNT]
    texts = [PASS_ROWS[name].draw(Choices(draws_of(random.Random(at))), facts) for at, (_, facts) in enumerate(meant)]
    said = Counter(acts(name, [module for module, _ in meant], texts))
    assert len(meant) == COUNT
    assert 3 * said["changed"] >= COUNT, said


def test_they_are_nowhere_else() -> None:
    names = {idiom.name for idiom in RARE}
    assert len(names) == len(RARE)
    assert names.isdisjoint(idiom.name for idiom in IDIOMS)
    assert names.isdisjoint(idiom.name for each in for_passes().values() for idiom in each)


def test_no_module_calls_for_results_that_the_api_of_packed_calls_refuses() -> None:
    """``relax.op.call_dps_packed`` takes the type of a tensor, or a list of them."""
    called = [
        each
        for drawn_one in drawn("seldom_called", count=4 * COUNT)
        for each in expressions_in(drawn_one.module)
        if operator_of(each) == "relax.call_dps_packed"
    ]
    types = [each for call in called for each in flat(call.ty_args[0])]
    nested = [field for call in called for field in getattr(call.ty_args[0], "fields", ())]
    assert len(types) > len(called) > 0
    assert not any(isinstance(each, relax.TupleType) for each in nested)
