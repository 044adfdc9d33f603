from __future__ import annotations

import pytest
import tvm
from drawing import PLAIN, drawn, plain_draws, plain_modules
from tvm import relax

from strategies import Feature, features_of, ir_modules
from strategies.scope.features import ON_DEMAND


def relax_functions(module):
    return {var.name_hint: f for var, f in module.functions.items() if isinstance(f, relax.Function)}


@pytest.fixture(scope="module")
def modules():
    return plain_modules()


def test_every_module_is_well_formed(modules):
    for module in modules:
        relax.analysis.well_formed(module)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"operators": {"relax.add": 30, "relax.multiply": 30}},
        {"operators": {"relax.matmul": 30, "relax.broadcast_to": 30}},
        {"max_bindings": 4},
        {"demand": [Feature.MULTIPLE_FUNCTIONS]},
        {"demand": [Feature.RECURSION, Feature.CAST_SYMBOLS]},
        {"demand": [Feature.LOCAL_FUNCTIONS, Feature.CAST_SYMBOLS, Feature.SHAPE_SYMBOLS]},
    ],
    ids=["plain", "aimed", "aimed-matmul", "small", "functions", "recursion", "local-functions"],
)
def test_thousands_of_modules_are_well_formed(arguments):
    for module in drawn(ir_modules(**arguments), 2000, seed=2):
        relax.analysis.well_formed(module)


def test_declared_return_types_match_the_bodies(modules):
    for module in modules:
        for name, function in relax_functions(module).items():
            # The declared type may know less than the body, never something else.
            level = relax.analysis.type_base_check(function.ret_ty, function.body.ty)
            assert level == relax.analysis.BaseCheckResult.PASS, f"{name}\n{module.script()}"


def test_symbolic_dims_belong_to_one_function(modules):
    for module in modules:
        seen = set()
        for function in relax_functions(module).values():
            own = set(relax.analysis.defined_symbolic_vars(function))
            assert not own & seen
            seen |= own


def test_parameters_have_unique_names(modules):
    for module in modules:
        for function in relax_functions(module).values():
            names = [parameter.name for parameter in function.params]
            assert len(set(names)) == len(names)


def test_hardly_a_draw_is_discarded():
    assert plain_draws().count(None) <= PLAIN * 0.02


def test_modules_differ(modules):
    assert len({tvm.ir.save_json(module) for module in modules}) > 390


def test_call_chains_and_counts_stay_in_bounds(modules):
    for module in modules:
        plain = {
            name: f
            for name, f in relax_functions(module).items()
            if not ({"Composite", "Codegen"} & set(f.attrs.keys() if f.attrs else ()))
        }
        assert 1 <= len(plain) <= 5
        assert any(f.attrs and "global_symbol" in f.attrs for f in plain.values())
        calls = {
            name: {var.name_hint for var in relax.analysis.all_global_vars(f)} & set(plain) for name, f in plain.items()
        }

        def depth(name, path, calls=calls):
            # recursion counts once: a function that is on the path already is no further link
            return 1 + max((depth(callee, {*path, callee}) for callee in calls[name] - path), default=0)

        chain = max(depth(name, {name}) for name in plain)
        mutual = any(name.startswith("pool") for name in plain)
        assert chain - mutual <= (5 if Feature.DEEP_CALLS in features_of(module) else 3)


def test_modules_survive_json(modules):
    for module in modules[:100]:
        text = tvm.ir.save_json(module)
        assert tvm.ir.save_json(tvm.ir.load_json(text)) == text


def test_no_if_inside_a_dataflow_block(modules):
    for module in modules:
        for function in relax_functions(module).values():
            for block in function.body.blocks:
                if isinstance(block, relax.DataflowBlock):
                    assert not any(isinstance(binding.value, relax.If) for binding in block.bindings)


def test_every_feature_occurs_by_itself(modules):
    found = set()
    for module in modules:
        found |= features_of(module)
    assert found == set(Feature) - ON_DEMAND


def test_each_feature_occurs_often_enough(modules):
    wanted = (
        Feature.NESTED_IF, Feature.SEVERAL_BLOCKS, Feature.CAST_SYMBOLS, Feature.SHAPE_SYMBOLS, Feature.DATA_DEPENDENT,
        Feature.UNUSED_PARAMETERS, Feature.UNUSED_OUTPUTS, Feature.SEVERAL_VDEVICES,
    )  # fmt: skip
    found = [features_of(module) for module in modules]
    counts = {feature: sum(feature in each for each in found) for feature in wanted}
    assert min(counts.values()) >= 0.03 * len(modules), counts
    assert sum(Feature.IF in each for each in found) >= 0.1 * len(modules)


def test_one_function_and_few_bindings_are_kept_to():
    for module in drawn(ir_modules(max_functions=1, max_bindings=1, forbid=[Feature.COMPOSITE]), 60):
        assert len(relax_functions(module)) == 1


def test_executable_modules_have_nothing_that_cannot_run():
    for module in drawn(ir_modules(executable=True), 60):
        assert not features_of(module) & {Feature.NON_EXECUTABLE, Feature.STOP_LIFT}


def test_modules_that_never_run_can_be_asked_for():
    for module in drawn(ir_modules(executable=False), 40):
        assert Feature.NON_EXECUTABLE in features_of(module)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"demand": [Feature.IF], "forbid": [Feature.BOOLEANS]}, "demanded and forbidden"),
        ({"demand": [Feature.STOP_LIFT], "executable": True}, "demanded and forbidden"),
        ({"max_functions": 6}, "no modules"),
        ({"max_bindings": 0}, "no modules"),
    ],
)
def test_contradictory_requests_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ir_modules(**arguments)
