"""What a drawn failure becomes by Hypothesis alone.

Of the seeds of one property the median must keep within its limits.  The worst may be larger: a shrinker leaves out
steps and idioms as a whole, so that an operator which only the inside of an idiom holds keeps that idiom around it.
"""

from __future__ import annotations

import random
import statistics

import pytest
from hypothesis import HealthCheck, find, settings
from tvm import relax

from strategies import Feature, features_of, ir_modules, operators_of

SETTINGS = settings(database=None, deadline=None, max_examples=1500, suppress_health_check=list(HealthCheck))
MOST = 6


def relax_functions(module):
    return [f for f in module.functions.values() if isinstance(f, relax.Function)]


def bindings(module):
    """How many bindings there are, those of branches and local functions included."""
    count = 0

    def visit(expr):
        nonlocal count
        if isinstance(expr, relax.SeqExpr):
            count += sum(len(block.bindings) for block in expr.blocks)

    for function in relax_functions(module):
        relax.analysis.post_order_visit(function, visit)
    return count


def has(*features):
    return lambda module: set(features) <= features_of(module)


def calls(operator, functions=1):
    return lambda module: len(relax_functions(module)) >= functions and operator in operators_of(module)


PROPERTIES = {
    "anything": (lambda module: True, 1, 1),
    "if": (has(Feature.IF), 2, MOST),
    "sin": (calls("relax.sin"), 2, MOST),
    "weights": (has(Feature.WEIGHTS), 1, 3),
    "private call": (has(Feature.PRIVATE_CALLS), 2, MOST),
    "nested if": (has(Feature.NESTED_IF), 2, MOST),
    "data-dependent shape": (has(Feature.DATA_DEPENDENT), 2, MOST),
    "two functions and a matmul": (calls("relax.matmul", 2), 2, 8),
    "symbol of a cast": (has(Feature.CAST_SYMBOLS), 2, MOST),
    "symbol of a Shape parameter": (has(Feature.SHAPE_SYMBOLS), 2, MOST),
    "two devices": (has(Feature.SEVERAL_VDEVICES), 2, MOST),
    "two dataflow blocks": (has(Feature.SEVERAL_BLOCKS), 2, MOST),
    "unused output": (has(Feature.UNUSED_OUTPUTS), 2, MOST),
    "if and tuple": (has(Feature.IF, Feature.TUPLES), 2, MOST),
    "dead and duplicate code": (has(Feature.DEAD_CODE, Feature.DUPLICATE_CODE), 2, MOST),
    "local function": (has(Feature.LOCAL_FUNCTIONS), 2, MOST),
    "convolution": (calls("relax.nn.conv2d"), 2, MOST),
    "external function": (has(Feature.CODEGEN), 2, MOST),
}
"""What a module must have -> most functions, most bindings of the smallest such module that is found, in the median."""

QUICK = ("weights",)
SEEDS = (1, 2, 3)
WORST = 14
"""Bindings of the largest idiom with what makes and takes its operands."""


def check(name, seeds=SEEDS):
    condition, functions, most = PROPERTIES[name]
    modules = [find(ir_modules(), condition, settings=SETTINGS, random=random.Random(seed)) for seed in seeds]
    shown = "\n".join(module.script() for module in modules)
    sizes = [bindings(module) for module in modules]
    assert statistics.median(len(relax_functions(module)) for module in modules) <= functions, shown
    assert statistics.median(sizes) <= most, shown
    assert max(sizes) <= WORST, shown


@pytest.mark.parametrize("name", QUICK)
def test_the_smallest_module_is_small(name):
    check(name, SEEDS[:1])


@pytest.mark.slow
@pytest.mark.parametrize("name", PROPERTIES)
def test_the_smallest_module_of_more_kinds_is_small(name):
    check(name)
