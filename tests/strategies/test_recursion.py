from __future__ import annotations

import pytest
from drawing import drawn
from hypothesis import strategies as st
from tvm import relax

from strategies import Feature, ir_modules
from strategies.constructs import recursion, shapes
from strategies.constructs.recursion import DEPTH
from strategies.scope.features import closure
from strategies.scope.frame import ModuleFrame


def recursive(module):
    """Names of the functions that call themselves, with those they call."""
    calls = {
        var.name_hint: {other.name_hint for other in relax.analysis.all_global_vars(function)}
        for var, function in module.functions.items()
        if isinstance(function, relax.Function)
    }
    return {name: called for name, called in calls.items() if name.startswith(("loop", "pool"))}


@pytest.fixture(scope="module")
def modules():
    return list(drawn(ir_modules(demand=[Feature.RECURSION]), 60))


def test_functions_call_themselves_or_each_other(modules):
    seen = set()
    for module in modules:
        found = recursive(module)
        assert found
        for name, called in found.items():
            if name.startswith("pool"):
                assert any(other.startswith("loop") for other in called)
                seen.add("mutual")
            elif name in called:
                seen.add("self")
    assert seen == {"self", "mutual"}


def test_the_result_is_one_if_on_the_counter(modules):
    for module in modules:
        for name in recursive(module):
            function = module[name]
            assert "global_symbol" not in function.attrs
            assert any(
                isinstance(binding.value, relax.If) for block in function.body.blocks for binding in block.bindings
            )
            assert tuple(function.params[0].ty.shape.values) == ()


def test_declared_types_of_recursive_functions_are_those_of_their_variables(modules):
    for module in modules:
        for var, function in module.functions.items():
            if var.name_hint in recursive(module):
                assert relax.analysis.type_base_check(var.ty, function.ty) == relax.analysis.BaseCheckResult.PASS


def test_some_recursion_has_symbolic_shapes_and_some_tuples(modules):
    text = [str(param.ty) for module in modules for name in recursive(module) for param in module[name].params]
    assert any("Tuple" in ty for ty in text)
    assert any('"n"' in ty or "(n" in ty for ty in text)


def test_the_counter_is_small():
    assert DEPTH == 3


@pytest.mark.parametrize("mutual", [False, True])
def test_what_a_cast_defines_in_a_branch_is_no_dim_in_another(mutual):
    def step(scope, depth):
        """Use every symbol that counts as defined, and define another."""
        for symbol in scope.frame.symbol_list + shapes.loose_symbols(scope):
            shapes.filled(scope, [symbol], "float32")
        shapes.learn(scope, shapes.filled(scope, [2], "float32"), (scope.frame.new_symbol((1, 4)),))

    @st.composite
    def strategy(draw):
        features = closure([Feature.RECURSION, Feature.CAST_SYMBOLS, Feature.DEAD_CODE])
        frame = ModuleFrame(relax.BlockBuilder(), features, True)
        with frame.builder_scope():
            recursion.build(draw, frame, step, mutual=mutual)
            return frame.builder.get()

    for module in drawn(strategy(), 30):
        relax.analysis.well_formed(module)
