"""Which passes a module is tried under, and how often."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from drawing import drawn

from strategies.detect.module_facts import Facts, facts_of
from strategies.modules import described_modules
from strategies.pass_arguments.row import AIMED, LIKELY, NEAR, NEVER, UNLIKELY
from strategies.pass_arguments.table import fitness


def test_what_is_planted_goes_first():
    facts = Facts(calls=Counter(matmul=2))
    assert fitness("AdjustMatmulOrder", facts) == LIKELY
    assert fitness("AdjustMatmulOrder", Facts()) == UNLIKELY
    assert fitness("AdjustMatmulOrder", replace(facts, idioms=("matmul_chain",))) == AIMED
    assert fitness("AdjustMatmulOrder", replace(facts, idioms=("matmul_chain!best_order",))) == NEAR
    assert UNLIKELY < LIKELY < NEAR < AIMED


def test_a_pass_that_cannot_take_the_module_is_not_tried():
    assert fitness("BundleModelParams", Facts()) == NEVER
    assert fitness("UpdateVDevice", Facts(vdevices=0, idioms=("hinted",))) == NEVER


def test_where_a_pass_is_known_to_raise_it_is_tried_seldom():
    facts = Facts(calls=Counter(exp=1), idioms=("approximated",))
    assert fitness("FastMathTransform", facts) == AIMED
    assert fitness("FastMathTransform", replace(facts, function_calls=True)) == UNLIKELY


def test_facts_count_calls_and_equal_ones():
    for described in drawn(described_modules(), 30):
        facts = facts_of(described.module, described.idioms)
        assert facts.idioms == described.idioms
        assert {f"relax.{name}" for name in facts.calls} == facts.operators
        assert all(count > 0 for count in facts.calls.values())
        if facts.repeated:
            assert max(facts.calls.values()) > 1
