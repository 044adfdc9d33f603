from __future__ import annotations

import pytest
from drawing import drawn
from tvm import relax

from strategies import Feature, features_of, ir_modules


def local_functions(module):
    """Pairs of a local function and how many others it is in."""
    found = []

    def sequence(body, depth):
        for block in body.blocks:
            for binding in block.bindings:
                value = binding.value
                if isinstance(value, relax.If):
                    sequence(value.true_branch, depth)
                    sequence(value.false_branch, depth)
                elif isinstance(value, relax.Function):
                    found.append((value, depth))
                    sequence(value.body, depth + 1)

    for function in module.functions.values():
        if isinstance(function, relax.Function) and not (function.attrs and "Codegen" in function.attrs):
            sequence(function.body, 0)
    return found


def test_captured_values_come_from_outside_of_the_function():
    for module in drawn(ir_modules(demand=[Feature.CAPTURES]), 30):
        assert any(relax.analysis.free_vars(function) for function, _ in local_functions(module)), module.script()


def test_nothing_is_captured_where_captures_are_forbidden():
    seen = 0
    for module in drawn(ir_modules(demand=[Feature.LOCAL_FUNCTIONS], forbid=[Feature.CAPTURES]), 30):
        for function, _ in local_functions(module):
            seen += 1
            assert not relax.analysis.free_vars(function), module.script()
    assert seen


def test_local_functions_nest_two_deep_at_most():
    depths = set()
    for module in drawn(ir_modules(demand=[Feature.NESTED_CLOSURES]), 30):
        depths |= {depth for _, depth in local_functions(module)}
    assert depths in ({0, 1}, {0, 1, 2})  # an idiom may add one of its own


def test_a_returned_closure_is_called():
    for module in drawn(ir_modules(demand=[Feature.RETURNED_CLOSURES], forbid=[Feature.DEAD_CODE]), 30):
        called = []

        def visit(expr, called=called):
            if isinstance(expr, relax.Call) and isinstance(expr.op, relax.Var):
                called.append(expr.op)

        for function in module.functions.values():
            if isinstance(function, relax.Function):
                relax.analysis.post_order_visit(function, visit)
        bound = [function.ret_ty for function, _ in local_functions(module)]
        assert called
        assert any(isinstance(ty, relax.FuncType) for ty in bound) or Feature.PRIVATE_CALLS in features_of(module)


def test_an_impure_local_function_makes_its_caller_impure():
    seen = 0
    demand = [Feature.LOCAL_FUNCTIONS, Feature.IMPURE_CALLS]
    for module in drawn(ir_modules(demand=demand), 60):
        for function in module.functions.values():
            if not isinstance(function, relax.Function) or (function.attrs and "relax.force_pure" in function.attrs):
                continue
            if function.is_pure:
                assert not relax.analysis.contains_impure_call(function.body), module.script()
        seen += any(not function.is_pure for function, _ in local_functions(module))
    assert seen


@pytest.mark.parametrize("feature", [Feature.CAPTURES, Feature.RETURNED_CLOSURES, Feature.MADE_CLOSURES], ids=str)
def test_symbolic_shapes_and_tuples_pass_through_closures(feature):
    found = set()
    for module in drawn(ir_modules(demand=[feature, Feature.SYMBOLIC_SHAPES, Feature.TUPLES]), 40):
        for function, _ in local_functions(module):
            for ty in [*(param.ty for param in function.params), function.ret_ty]:
                if isinstance(ty, relax.TupleType):
                    found.add("tuple")
                if isinstance(ty, relax.TensorType) and "n" in str(ty.shape):
                    found.add("symbolic")
    assert feature is Feature.MADE_CLOSURES or {"tuple", "symbolic"} <= found
