"""CUDA graphs on a CPU: captured functions run, and their claims are judged."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sample_modules as samples
from tvm import relax
from verdict_rows import captured, ref, step, tensor

from oracles.core.subject import Subject
from oracles.core.verdict import Outcome
from oracles.judge import judge
from oracles.numeric.repeated_calls import captures_weights
from relaxkit.ir.walk import operator_of, places
from relaxkit.passes.claims.cuda_graph import CUDA_GRAPH_CLAIMS, LAUNCH, graph_functions
from relaxkit.passes.contract import (
    OracleName,
    Ran,
)
from relaxkit.passes.pass_ref import PassRef
from relaxkit.passes.preconditions import no_lowered_allocations
from relaxkit.runtime import session
from relaxkit.runtime.cuda_graph import Graphs

GRAPH = PassRef(
    "RewriteCUDAGraph", 'configured(relax.transform.RewriteCUDAGraph(), {"relax.backend.use_cuda_graph": True})'
)


def chain() -> Any:
    """Four kernels one after the other."""
    builder = relax.BlockBuilder()
    x = samples.var("x")
    with builder.function("main", [x]):
        one = builder.emit(relax.op.exp(x))
        two = builder.emit(relax.op.add(one, relax.const(np.ones((2, 3), "float32"), "float32")))
        three = builder.emit(relax.op.tanh(two))
        builder.emit_func_output(builder.emit(relax.op.negative(three)))
    return builder.finalize()


def rewritten() -> Subject:
    subject = Subject(chain(), [GRAPH])
    assert subject.output.error is None
    return subject


def expected(x: Any) -> Any:
    return -np.tanh(np.exp(x) + 1)


def test_a_region_is_captured_and_executes() -> None:
    subject = rewritten()
    assert graph_functions(subject.output.module, LAUNCH) == {"main_cuda_graph_capture"}
    program = session().build(subject.output.module)
    for seed in (1, 2, 2):  # the second and third calls replay
        x = np.random.default_rng(seed).uniform(-1, 1, (2, 3)).astype("float32")
        np.testing.assert_allclose(program.call("main", [x]), expected(x), rtol=1e-5)


def test_each_program_keeps_its_own_storages() -> None:
    x = np.zeros((2, 3), "float32")
    programs = [session().build(rewritten().output.module) for _ in range(3)]
    for program in (*programs, *programs):
        np.testing.assert_allclose(program.call("main", [x]), expected(x), rtol=1e-5)


class Closure:
    """Stands for a function of a machine."""

    def same_as(self, other: Any) -> bool:
        return self is other


def test_a_replay_runs_on_what_was_captured() -> None:
    """A graph knows addresses: a region that takes what is not static gives what the capture gave."""
    graphs = Graphs(lambda machine, closure, *arguments: (closure, arguments))
    machine, one, other = ctypes.c_void_p(64), Closure(), Closure()
    assert graphs.run_or_capture(machine, one, [1.0], 0) == (one, (1.0,))
    assert graphs.run_or_capture(machine, one, [2.0], 0) == (one, (1.0,))
    assert graphs.run_or_capture(machine, one, [2.0], 1) == (one, (2.0,))
    assert graphs.run_or_capture(machine, one, [3.0], 0, (5,)) == (one, (3.0,))  # captured for each shape
    assert graphs.run_or_capture(machine, other, [4.0], 0) == (other, (4.0,))  # another machine at the same address


def test_storages_are_allocated_once() -> None:
    made: list[Any] = []
    graphs = Graphs(lambda machine, closure, *arguments: made.append(closure) or len(made))
    machine, one, other = ctypes.c_void_p(64), Closure(), Closure()
    assert [graphs.get_cached_alloc(machine, each, 0) for each in (one, one, other, other)] == [1, 1, 2, 2]


@pytest.mark.parametrize("postcondition", CUDA_GRAPH_CLAIMS, ids=lambda claim: claim.claim)
def test_claims_hold_of_tvm(postcondition: Any) -> None:
    subject = rewritten()
    assert postcondition.violation(Ran(subject.module, subject.output.module, {})) == ""


def violated(after: Any) -> list[str]:
    """Claims that a module breaks as the result of the pass on the chain."""
    before = rewritten().module
    return [each.claim for each in CUDA_GRAPH_CLAIMS if each.violation(Ran(before, after, {}))]


def edited(module: Any, name: str, change: Callable[[list[Any]], list[Any]]) -> Any:
    """A copy of a module in which a function has other bindings."""
    function = module[name]
    bindings = change(list(function.body.blocks[0].bindings))
    body = relax.SeqExpr([relax.BindingBlock(bindings)], function.body.body)
    result = module.clone()
    result.update_func(
        module.get_global_var(name), relax.Function(function.params, body, function.ret_ty, attrs=function.attrs)
    )
    return result


def bound(module: Any, name: str, operator: str) -> int:
    """Position of the first binding of a function that calls an operator or a kernel."""
    values = [place.value for place in places(module[name])]
    return next(
        index
        for index, value in enumerate(values)
        if isinstance(value, relax.Call) and operator in (operator_of(value), getattr(value.op, "name_hint", ""))
    )


def test_claims_see_a_kernel_that_is_missing() -> None:
    module, name = rewritten().output.module, "main_cuda_graph_capture"
    at = bound(module, name, "tir_tanh")
    after = edited(module, name, lambda bindings: bindings[:at] + bindings[at + 1 :])
    assert violated(after) == ["kernels are called in the order they were called in"]


def test_claims_see_a_storage_that_is_too_small() -> None:
    def shrunk(bindings: list[Any]) -> list[Any]:
        first = bindings[0]
        call = relax.Call(first.value.op, [relax.ShapeExpr([20]), *first.value.args[1:]], first.value.attrs)
        return [relax.VarBinding(first.var, call), *bindings[1:]]

    module = rewritten().output.module
    assert violated(module) == []
    assert violated(edited(module, "cuda_graph_alloc", shrunk)) == ["merged storages are large enough"]


def test_claims_see_an_allocation_that_is_captured() -> None:
    module, name = rewritten().output.module, "main_cuda_graph_capture"
    allocation = module["cuda_graph_alloc"].body.blocks[0].bindings[0]
    after = edited(module, name, lambda bindings: [allocation, *bindings])
    assert violated(after) == ["captured functions launch kernels and nothing else"]


def test_graphs_are_captured_before_allocations_are_lowered() -> None:
    """78d99fe8cf: a captured region that allocates gives other memory each time, which the next region never sees."""
    lowering = [PassRef(name, f"relax.transform.{name}()") for name in ("LowerAllocTensor", "LowerRuntimeBuiltin")]
    planned = Subject(samples.dataflow(), [lowering[0], GRAPH])
    assert no_lowered_allocations(planned.input_of(len(planned.plan.steps) - 1)) is None
    lowered = Subject(samples.dataflow(), [*lowering, GRAPH])
    assert no_lowered_allocations(lowered.input_of(len(lowered.plan.steps) - 1)) == "allocations are lowered"
    (verdict,) = judge(lowered, [OracleName.WELL_FORMED])
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "allocations are lowered")


def test_weights_of_a_captured_graph_stay_where_they_were():
    weighted = relax.Var("w", tensor((2, 2)))
    bb = relax.BlockBuilder()
    with bb.function("main", [relax.Var("x", tensor((2, 2))), weighted], attrs={"num_input": 1}):
        with bb.dataflow():
            static = bb.emit(relax.op.negative(bb.emit(relax.op.abs(bb.emit(relax.op.negative(weighted))))))
            out = bb.emit_output(relax.op.square(static))
        bb.emit_func_output(out)
    for seed in range(8):  # other inputs are drawn for some seeds only
        (verdict,) = judge(Subject(bb.get(), [captured()], input_seed=seed), [OracleName.NUMERIC])
        assert verdict.outcome is Outcome.PASS, verdict
    steps = [step(captured())]
    assert captures_weights(steps, 1, 2)
    assert not captures_weights(steps, 2, 2)
    assert not captures_weights(steps, None, 2)
    assert not captures_weights([step(ref("FuseOps"))], 1, 2)
