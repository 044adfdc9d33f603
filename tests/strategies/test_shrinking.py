from __future__ import annotations

import pytest
from hypothesis import HealthCheck, find, settings
from tvm import relax

from strategies import Feature, features_of, ir_modules

SETTINGS = settings(database=None, deadline=None, max_examples=1000, suppress_health_check=list(HealthCheck))


def bindings(module):
    functions = [f for f in module.functions.values() if isinstance(f, relax.Function)]
    return sum(len(block.bindings) for f in functions for block in f.body.blocks)


@pytest.mark.parametrize(
    ("condition", "functions", "most"),
    [
        (lambda module: True, 1, 1),
        (lambda module: Feature.IF in features_of(module), 1, 3),
        (lambda module: "R.sin(" in module.script(), 1, 3),
        (lambda module: Feature.WEIGHTS in features_of(module), 1, 3),
        (lambda module: Feature.PRIVATE_CALLS in features_of(module), 2, 6),
    ],
    ids=["anything", "if", "sin", "weights", "private call"],
)
def test_the_smallest_module_is_small(condition, functions, most):
    module = find(ir_modules(), condition, settings=SETTINGS)
    assert len(module.functions) <= functions, module.script()
    assert bindings(module) <= most, module.script()
