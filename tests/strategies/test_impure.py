from __future__ import annotations

import re

import pytest
from drawing import drawn
from tvm import relax

from strategies import Feature, ir_modules


@pytest.fixture(scope="module")
def modules():
    return list(drawn(ir_modules(demand=[Feature.IMPURE_CALLS]), 80))


def functions_of(module):
    return [f for f in module.functions.values() if isinstance(f, relax.Function)]


def test_a_function_with_an_effect_is_impure_or_declared_pure(modules):
    declared = 0
    for module in modules:
        for function in functions_of(module):
            forced = bool(function.attrs) and "relax.force_pure" in function.attrs
            declared += forced
            if function.is_pure and not forced:
                assert not relax.analysis.contains_impure_call(function.body)
    assert declared


def test_no_effect_stands_in_a_dataflow_block(modules):
    for module in modules:
        for function in functions_of(module):
            for block in function.body.blocks:
                if isinstance(block, relax.DataflowBlock):
                    assert not any(
                        isinstance(b.value, relax.Call) and relax.analysis.contains_impure_call(b.value)
                        for b in block.bindings
                    )


def test_all_kinds_of_effects_occur_and_labels_differ(modules):
    text = [module.script() for module in modules]
    for what in ("R.print(", "R.assert_op(", "testing.nop", "testing.echo"):
        assert any(what in each for each in text), what
    for each in text:
        labels = re.findall(r"note\d+", each)
        assert len(labels) == len(set(labels))


def test_effects_of_called_functions_count(modules):
    seen = 0
    for module in modules:
        for function in functions_of(module):
            for var in relax.analysis.all_global_vars(function):
                callee = module[var]
                if isinstance(callee, relax.Function) and not callee.is_pure:
                    forced = bool(function.attrs) and "relax.force_pure" in function.attrs
                    seen += 1
                    assert not function.is_pure or forced
    assert seen
