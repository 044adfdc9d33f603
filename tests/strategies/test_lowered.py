"""Lowered code: what it is made of, that it runs, and that only passes for it are drawn and judged."""

from __future__ import annotations

import pytest
import tvm
from drawing import drawn
from hypothesis import strategies as st
from tvm import relax, tirx

from oracles.core.subject import Subject
from oracles.core.verdict import Outcome
from oracles.judge import judge
from oracles.measure.inputs import materialize
from relaxkit.ir.lowered import allocates, is_lowered, stored_parameters
from relaxkit.passes.contract import ALREADY_LOWERED, Stage
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.passes.pass_ref import PassRef
from relaxkit.runtime import session
from strategies import Feature, features_of, ir_modules, module_and_passes, pipelines
from strategies.detect.module_facts import facts_of
from strategies.passes import ON_LOWERED, PASS_ROWS, can_act

LOWERED = ir_modules(
    demand=[Feature.LOWERED], forbid=[Feature.VDEVICE, Feature.LOCAL_FUNCTIONS], max_functions=1, max_bindings=1,
    executable=True,
)  # fmt: skip


TENSORS = ("relax.builtin.alloc_tensor", "relax.memory.alloc_tensor")


def test_all_kinds_of_memory_are_drawn():
    text = "\n".join(module.script() for module in drawn(LOWERED, 60))
    for part in ("builtin.alloc_tensor", "memory.alloc_storage", "memory.alloc_tensor", "memory.kill_tensor",
                 "memory.kill_storage", "vm.kill_object", "relax.force_pure", "pure=False"):  # fmt: skip
        assert part in text, part


def test_lowered_modules_run_twice_alike():
    for number, module in enumerate(drawn(LOWERED, 30)):
        program = session().build(module)
        for var, function in module.functions_items():
            if isinstance(function, relax.Function) and "global_symbol" in function.attrs:
                arguments = materialize(module, var.name_hint, number)
                results = [program.call(function.attrs["global_symbol"], arguments) for _ in range(2)]
                assert repr(results[0]) == repr(results[1]), module.script()


def test_what_is_allocated_is_filled_before_it_is_read():
    twice = ir_modules(demand=[Feature.LOWERED, Feature.DUPLICATE_CODE], forbid=[Feature.VDEVICE])
    allocated = 0
    for module in drawn(twice, 60):
        for function in module.functions.values():
            if isinstance(function, relax.Function):
                allocated += _check_filled(module, function)
    assert allocated > 60


def _check_filled(module, function):
    """The number of allocated tensors of a function, each of which is at first the output of a kernel."""
    empty, allocated = set(), 0

    def visit(expr):
        kernel = module[expr.op] if isinstance(expr, relax.Call) and isinstance(expr.op, tvm.ir.GlobalVar) else None
        if isinstance(kernel, tirx.PrimFunc):
            outputs = {expr.args[index] for index in stored_parameters(kernel)}
            assert empty.isdisjoint(set(expr.args) - outputs), module.script()
            empty.difference_update(outputs)
        else:
            assert empty.isdisjoint(relax.analysis.free_vars(expr)), module.script()

    def sequence(seq):
        nonlocal allocated
        for block in seq.blocks:
            for binding in block.bindings:
                value = binding.value
                if isinstance(value, relax.If):
                    sequence(value.true_branch)
                    sequence(value.false_branch)
                elif not isinstance(value, relax.Function):
                    visit(value)
                if isinstance(value, relax.Call) and getattr(value.op, "name", "") in TENSORS:
                    empty.add(binding.var)
                    allocated += 1
        visit(seq.body)

    sequence(function.body)
    return allocated


def test_both_rooms_see_the_same():
    for module in drawn(ir_modules(), 40):
        functions = [f for f in module.functions.values() if isinstance(f, relax.Function)]
        seen = any(allocates(function) for function in functions)
        assert is_lowered(module) == seen == (Feature.LOWERED in features_of(module)) == facts_of(module).lowered


def test_the_passes_for_lowered_modules_are_those_of_the_contracts():
    promised = {
        name for name, row in CONTRACTS.items() if (row.any_stage or row.needs is Stage.LOWERED) and name in PASS_ROWS
    }
    assert promised == ON_LOWERED


def test_only_fitting_passes_are_drawn():
    for module, passes in drawn(module_and_passes(count=30, modules=LOWERED), 5):
        assert {each.name for each in passes} <= ON_LOWERED
        assert not can_act("LegalizeOps", facts_of(module))
        for row in drawn(st.lists(pipelines(module=module), min_size=5, max_size=5), 2):
            assert {each.name for pipeline in row for each in pipeline} <= ON_LOWERED


@pytest.mark.parametrize(("name", "fits"), [("FoldConstant", False), ("StaticPlanBlockMemory", True)])
def test_a_pass_of_an_earlier_stage_is_not_judged(name, fits):
    (module,) = drawn(LOWERED, 1)
    verdicts = judge(Subject(module, [PassRef(name, f"relax.transform.{name}()")]))
    skipped = all(each.outcome is Outcome.SKIP and each.reason == ALREADY_LOWERED for each in verdicts)
    assert skipped is not fits
