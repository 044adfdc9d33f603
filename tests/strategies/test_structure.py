"""Properties of drawn structure: blocks, branches, devices, symbols, and what nothing uses."""

from __future__ import annotations

import itertools

import tvm
from drawing import drawn, missing, parts_of
from tvm import relax

from strategies import Feature, ir_modules
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


def test_dataflow_blocks_stand_side_by_side_and_apart():
    def rows(module):
        for function in functions_of(module):
            kinds = [isinstance(block, relax.DataflowBlock) for block in function.body.blocks]
            yield from itertools.pairwise(kinds)
            yield from zip(kinds, kinds[1:], kinds[2:], strict=False)

    modules = drawn(ir_modules(demand=[Feature.SEVERAL_BLOCKS]), 40)
    assert not missing({(True, True), (True, False, True)}, map(rows, modules))


def test_branches_are_bare_variables_tuples_and_blocks_with_temporaries():
    def kinds(module):
        for value in (binding.value for binding in bindings_of(module) if isinstance(binding.value, relax.If)):
            for branch in (value.true_branch, value.false_branch):
                is_variable = isinstance(branch.body, relax.Var)
                yield "bare variable" if not len(branch.blocks) and is_variable else ""
                yield "tuple" if is_variable and isinstance(branch.body.ty, relax.TupleType) else ""
                yield "temporaries" if sum(len(block.bindings) for block in branch.blocks) >= 3 else ""

    modules = drawn(ir_modules(demand=[Feature.NESTED_IF, Feature.TUPLES]), 60)
    assert not missing({"bare variable", "tuple", "temporaries"}, map(kinds, modules))


def test_conditions_are_tensors_and_primitive_values():
    def kinds(module):
        conditions = [binding.value.cond for binding in bindings_of(module) if isinstance(binding.value, relax.If)]
        found = {type(each.ty) for each in conditions}
        assert found <= {relax.TensorType, tvm.ir.PrimType}
        return found

    modules = drawn(ir_modules(demand=[Feature.IF, Feature.PRIM_PARAMS]), 60)
    assert not missing({relax.TensorType, tvm.ir.PrimType}, map(kinds, modules))


def test_symbols_of_casts_are_used_in_many_ways():
    calls = {f"R.{name}(" for name in ("full", "arange", "broadcast_to", "concat", "reshape")}
    modules = drawn(ir_modules(demand=[Feature.CAST_SYMBOLS]), 60)
    assert not missing(calls, (parts_of(module, calls) for module in modules))


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
    calls = {f"R.{name.removeprefix('relax.')}(" for name in DATA_DEPENDENT_OPS}
    modules = drawn(ir_modules(demand=[Feature.DATA_DEPENDENT]), 60)
    assert not missing(calls, (parts_of(module, calls) for module in modules))


def test_values_live_on_two_devices_and_come_back():
    for module in drawn(ir_modules(demand=[Feature.SEVERAL_VDEVICES], executable=True), 20):
        table = module.global_infos["vdevice"]
        assert [int(entry.vdevice_id) for entry in table[:2]] == [0, 1]
        moves = [b.var.ty.vdevice for b in bindings_of(module) if "to_vdevice" in str(getattr(b.value, "op", ""))]
        assert {int(device.vdevice_id) for device in moves} >= {0, 1}


def test_memory_scopes_occur_where_nothing_is_executed():
    modules = drawn(ir_modules(demand=[Feature.SEVERAL_VDEVICES], executable=False), 40)
    scopes = ({str(entry.memory_scope) for entry in module.global_infos["vdevice"]} for module in modules)
    assert not missing({"global", "global.texture", "shared"}, scopes)


def test_nothing_is_unused_where_that_is_forbidden():
    for module in drawn(ir_modules(forbid=[Feature.UNUSED_PARAMETERS, Feature.UNUSED_OUTPUTS]), 60):
        found = shape_features(module)
        assert not found & {Feature.UNUSED_PARAMETERS, Feature.UNUSED_OUTPUTS}, module.script()
        relax.analysis.well_formed(module)


def test_dead_code_is_of_many_kinds():
    def kinds(module):
        used = set()
        for binding in bindings_of(module):
            used.update(relax.analysis.free_vars(binding.value))
        for function in functions_of(module):
            used.update(relax.analysis.free_vars(function.body.body))
        return {type(b.value) for b in bindings_of(module) if b.var not in used}

    modules = drawn(ir_modules(demand=[Feature.DEAD_CODE, Feature.IF, Feature.TUPLES]), 80)
    assert not missing({relax.Call, relax.If, relax.TupleGetItem}, map(kinds, modules))


def test_calls_are_repeated_across_blocks_and_in_both_branches():
    def is_repeated(module):
        for binding in bindings_of(module):
            if isinstance(binding.value, relax.If):
                left, right = (
                    {str(b.value) for block in branch.blocks for b in block.bindings if isinstance(b.value, relax.Call)}
                    for branch in (binding.value.true_branch, binding.value.false_branch)
                )
                yield bool(left & right)

    assert not missing({True}, map(is_repeated, drawn(ir_modules(demand=[Feature.DUPLICATE_CODE, Feature.IF]), 60)))
