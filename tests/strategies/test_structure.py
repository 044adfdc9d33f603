"""Properties of drawn structure: blocks, branches, devices, symbols, and what nothing uses."""

from __future__ import annotations

import itertools

from drawing import drawn, plain_modules
from tvm import relax

from strategies import Feature, features_of, ir_modules
from strategies.detect.shapes import DATA_DEPENDENT_OPS, shape_features


def functions_of(module):
    return [f for f in module.functions.values() if isinstance(f, relax.Function)]


def bindings_of(module):
    found = []

    def visit(expr):
        if isinstance(expr, relax.SeqExpr):
            found.extend(binding for block in expr.blocks for binding in block.bindings)

    for function in functions_of(module):
        relax.analysis.post_order_visit(function, visit)
    return found


def text_of(modules):
    return "\n".join(module.script() for module in modules)


def test_dataflow_blocks_stand_side_by_side_and_apart():
    beside = apart = 0
    for module in drawn(ir_modules(demand=[Feature.SEVERAL_BLOCKS]), 40):
        for function in functions_of(module):
            kinds = [isinstance(block, relax.DataflowBlock) for block in function.body.blocks]
            beside += (True, True) in set(itertools.pairwise(kinds))
            apart += (True, False, True) in set(zip(kinds, kinds[1:], kinds[2:], strict=False))
    assert beside
    assert apart


def test_branches_are_bare_variables_tuples_and_blocks_with_temporaries():
    branches = [
        branch
        for module in drawn(ir_modules(demand=[Feature.NESTED_IF, Feature.TUPLES]), 60)
        for binding in bindings_of(module)
        if isinstance(binding.value, relax.If)
        for branch in (binding.value.true_branch, binding.value.false_branch)
    ]
    assert any(not len(branch.blocks) and isinstance(branch.body, relax.Var) for branch in branches)
    assert any(
        isinstance(branch.body, relax.Var) and isinstance(branch.body.ty, relax.TupleType) for branch in branches
    )
    assert any(sum(len(block.bindings) for block in branch.blocks) >= 3 for branch in branches)


def test_conditions_are_tensors_and_primitive_values():
    kinds = {
        type(binding.value.cond.ty).__name__
        for module in drawn(ir_modules(demand=[Feature.IF, Feature.PRIM_PARAMS]), 60)
        for binding in bindings_of(module)
        if isinstance(binding.value, relax.If)
    }
    assert kinds == {"TensorType", "PrimType"}


def test_symbols_of_casts_are_used_in_many_ways():
    text = text_of(drawn(ir_modules(demand=[Feature.CAST_SYMBOLS]), 60))
    assert all(f"R.{name}(" in text for name in ("full", "arange", "broadcast_to", "concat", "reshape"))


def test_what_data_decides_defines_no_parameter():
    for module in drawn(ir_modules(demand=[Feature.DATA_DEPENDENT, Feature.CAST_SYMBOLS]), 40):
        for function in functions_of(module):
            given = [dim for param in function.params for dim in dims_of(param.ty)]
            for cast in casts_of_computed_shapes(function):
                assert not any(dim.same_as(other) for dim in dims_of(cast.ty) for other in given), module.script()


def dims_of(ty):
    """The symbolic variables that stand alone in the shape of a tensor type."""
    shape = getattr(ty, "shape", None)
    return [dim for dim in shape.values if isinstance(dim, relax.Var)] if isinstance(shape, relax.ShapeExpr) else []


def casts_of_computed_shapes(function):
    """The casts whose source is the result of an operator that counts."""
    bindings = [binding for block in function.body.blocks for binding in block.bindings]
    counted = {
        binding.var
        for binding in bindings
        if isinstance(binding.value, relax.Call) and getattr(binding.value.op, "name", "") in COUNTING
    }
    return [b for b in bindings if isinstance(b, relax.MatchCast) and b.value in counted]


COUNTING = {"relax.unique", "relax.nonzero"}


def test_data_dependent_shapes_come_from_every_operator_that_makes_them():
    text = text_of(drawn(ir_modules(demand=[Feature.DATA_DEPENDENT]), 60))
    assert all(f"R.{name.removeprefix('relax.')}(" in text for name in DATA_DEPENDENT_OPS)


def test_values_live_on_two_devices_and_come_back():
    for module in drawn(ir_modules(demand=[Feature.SEVERAL_VDEVICES], executable=True), 20):
        table = module.global_infos["vdevice"]
        assert [int(entry.vdevice_id) for entry in table[:2]] == [0, 1]
        moves = [b.var.ty.vdevice for b in bindings_of(module) if "to_vdevice" in str(getattr(b.value, "op", ""))]
        assert {int(device.vdevice_id) for device in moves} >= {0, 1}


def test_memory_scopes_occur_where_nothing_is_executed():
    scopes = {
        str(entry.memory_scope)
        for module in drawn(ir_modules(demand=[Feature.SEVERAL_VDEVICES], executable=False), 40)
        for entry in module.global_infos["vdevice"]
    }
    assert {"global", "global.texture", "shared"} <= scopes


def test_nothing_is_unused_where_that_is_forbidden():
    for module in drawn(ir_modules(forbid=[Feature.UNUSED_PARAMETERS, Feature.UNUSED_OUTPUTS]), 60):
        found = shape_features(module)
        assert not found & {Feature.UNUSED_PARAMETERS, Feature.UNUSED_OUTPUTS}, module.script()
        relax.analysis.well_formed(module)


def test_dead_code_is_of_many_kinds():
    kinds = set()
    for module in drawn(ir_modules(demand=[Feature.DEAD_CODE, Feature.IF, Feature.TUPLES]), 80):
        used = set()
        for binding in bindings_of(module):
            used.update(relax.analysis.free_vars(binding.value))
        for function in functions_of(module):
            used.update(relax.analysis.free_vars(function.body.body))
        kinds |= {type(b.value).__name__ for b in bindings_of(module) if b.var not in used}
    assert {"Call", "If", "TupleGetItem"} <= kinds


def test_calls_are_repeated_across_blocks_and_in_both_branches():
    both = 0
    for module in drawn(ir_modules(demand=[Feature.DUPLICATE_CODE, Feature.IF]), 60):
        for binding in bindings_of(module):
            if isinstance(binding.value, relax.If):
                left, right = (
                    {str(b.value) for block in branch.blocks for b in block.bindings if isinstance(b.value, relax.Call)}
                    for branch in (binding.value.true_branch, binding.value.false_branch)
                )
                both += bool(left & right)
    assert both


def test_each_feature_occurs_often_enough():
    modules = plain_modules()
    wanted = (
        Feature.NESTED_IF, Feature.SEVERAL_BLOCKS, Feature.CAST_SYMBOLS, Feature.SHAPE_SYMBOLS, Feature.DATA_DEPENDENT,
        Feature.UNUSED_PARAMETERS, Feature.UNUSED_OUTPUTS, Feature.SEVERAL_VDEVICES,
    )  # fmt: skip
    found = [features_of(module) for module in modules]
    counts = {feature: sum(feature in each for each in found) for feature in wanted}
    assert min(counts.values()) >= 0.03 * len(modules), counts
    assert sum(Feature.IF in each for each in found) >= 0.1 * len(modules)
