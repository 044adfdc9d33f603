from __future__ import annotations

import pytest
from drawing import drawn, in_tiers
from tvm import relax

from strategies import Feature, features_of, ir_modules
from strategies.scope.features import REQUIRES, closure


@pytest.mark.parametrize("feature", list(Feature), ids=str)
@in_tiers(3, 12)
def test_a_demanded_feature_occurs(feature, count):
    for module in drawn(ir_modules(demand=[feature]), count):
        assert feature in features_of(module), module.script()
        relax.analysis.well_formed(module)


@pytest.mark.parametrize("feature", list(Feature), ids=str)
@in_tiers(5, 25)
def test_a_forbidden_feature_does_not_occur(feature, count):
    for module in drawn(ir_modules(forbid=[feature]), count):
        assert feature not in features_of(module), module.script()
        relax.analysis.well_formed(module)


def test_everything_that_goes_together_can_be_demanded_at_once():
    demand = set(Feature) - {Feature.NON_EXECUTABLE, Feature.STOP_LIFT}
    for module in drawn(ir_modules(demand=demand), 10):
        missing = demand - features_of(module)
        assert not missing, module.script()


def test_what_a_feature_requires_is_on_with_it():
    assert closure([Feature.STOP_LIFT]) == {Feature.STOP_LIFT, Feature.WEIGHTS}
    assert all(need in closure([feature]) for feature, needs in REQUIRES.items() for need in needs)


def test_forbidding_much_leaves_plain_modules():
    forbid = set(Feature) - {Feature.DEAD_CODE}
    for module in drawn(ir_modules(forbid=forbid), 40):
        assert features_of(module) <= {Feature.DEAD_CODE}
