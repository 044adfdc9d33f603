from __future__ import annotations

from drawing import drawn
from tvm import relax
from tvm.ir import GlobalVar, Op

from strategies import Feature, ir_modules


def calls_of(module, name):
    found = []

    def visit(expr):
        if isinstance(expr, relax.Call) and isinstance(expr.op, Op) and expr.op.name == name:
            found.append(expr)

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, visit)
    return found


def test_a_made_closure_holds_the_last_arguments_and_is_called_with_the_others():
    sizes = set()
    for module in drawn(ir_modules(demand=[Feature.MADE_CLOSURES], forbid=[Feature.DEAD_CODE]), 40):
        made = calls_of(module, "relax.make_closure")
        invoked = [
            call for name in ("invoke_pure_closure", "invoke_closure") for call in calls_of(module, f"relax.{name}")
        ]
        assert made
        assert invoked
        for call in made:
            target, held = call.args
            assert isinstance(target, GlobalVar)
            assert 1 <= len(held.fields) <= len(module[target].params)
            sizes.add(len(module[target].params) - len(held.fields))
        for call in invoked:
            assert len(call.ty_args) == 1
    assert len(sizes) > 1


def test_a_closure_of_a_pure_function_is_invoked_purely_where_effects_are_forbidden():
    for module in drawn(ir_modules(demand=[Feature.MADE_CLOSURES], forbid=[Feature.IMPURE_CALLS]), 30):
        assert not calls_of(module, "relax.invoke_closure")
