"""Calls in place: what they overwrite is seen by nobody else, whatever the number and order of the operands."""

from __future__ import annotations

from collections import Counter

from drawing import drawn
from tvm import relax

from strategies import Feature, features_of, ir_modules

IN_PLACE = "relax.call_tir_inplace"
DEMAND = ir_modules(demand=[Feature.INPLACE_KERNELS], max_functions=1, max_bindings=1)


def calls_of(module):
    found = []

    def visit(expr):
        if isinstance(expr, relax.Call) and str(getattr(expr.op, "name", "")) == IN_PLACE:
            found.append(expr)

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, visit)
    return found


def uses_of(function):
    count = Counter()

    def visit(expr):
        if isinstance(expr, relax.Call):
            for item in expr.args:
                count.update(leaf for leaf in (item.fields if isinstance(item, relax.Tuple) else [item]))
        elif isinstance(expr, relax.TupleGetItem):
            count[expr.tuple_value] += 1
        elif isinstance(expr, relax.Tuple):
            count.update(expr.fields)

    relax.analysis.post_order_visit(function, visit)
    return count


def test_overwritten_operands_have_no_other_use():
    shapes = set()
    for module in drawn(DEMAND, 60):
        assert Feature.INPLACE_KERNELS in features_of(module)
        counts = [uses_of(f) for f in module.functions.values() if isinstance(f, relax.Function)]
        for call in calls_of(module):
            indices = tuple(int(index) for index in call.attrs.inplace_indices)
            shapes.add(indices)
            for index in indices:
                if index >= 0:
                    operand = call.args[1].fields[index]
                    # A tuple of operands is visited on its own and as the argument of its call.
                    assert max(count[operand] for count in counts) <= 2, module.script()
    assert {(0,), (1,)} <= shapes
    assert any(len(each) > 1 and -1 in each for each in shapes)
    assert any(len(each) > 1 and -1 not in each for each in shapes)


def test_fresh_operands_of_one_module_differ():
    counted = 0
    for module in drawn(ir_modules(demand=[Feature.INPLACE_KERNELS], max_functions=1, max_bindings=8), 20):
        made = Counter()
        for function in module.functions.values():
            if not isinstance(function, relax.Function):
                continue
            for block in function.body.blocks:
                values = {binding.var: binding.value for binding in block.bindings}
                for binding in block.bindings:
                    if binding.value in calls_of(module):
                        for operand in binding.value.args[1].fields:
                            made[str(values.get(operand))] += operand in values
        counted += sum(made.values())
        assert all(count <= 1 or "R.add" not in text for text, count in made.items()), module.script()
    assert counted >= 20
