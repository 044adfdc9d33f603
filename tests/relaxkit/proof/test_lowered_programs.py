"""Programs of the virtual machine: dims in the shape heap, numbers that kernels compute, captured graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxkit.proof import Result, prove
from relaxkit.proof import legalize as legalize_module

LOWERING = (
    "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite", "LowerAllocTensor", "KillAfterLastUse",
    "LowerRuntimeBuiltin", "ComputePrimValue", "VMShapeLower", "AttachGlobalSymbol",
)  # fmt: skip


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), s: R.Shape(["n", "k"]), p: R.Tensor((2,), "int64")) -> R.Tuple(
        R.Tensor(("n * 2", "m"), "float32"), R.Tensor(("k", "n"), "float32")
    ):
        n, m, k, q = T.int64(), T.int64(), T.int64(), T.int64()
        with R.dataflow():
            twice = R.concat((x, x), axis=0)
            shape = R.tensor_to_shape(p)
            _ = R.match_cast(shape, R.Shape([q, m]))
            reshaped = R.reshape(twice, R.shape([n * 2, m]))
            total = R.add(reshaped, reshaped)
            zeros = R.zeros(R.shape([k, n]), "float32")
            R.output(total, zeros)
        return (total, zeros)


def legalized() -> Any:
    return relax.transform.LegalizeOps()(Model)


def lowered() -> Any:
    module = legalized()
    for name in LOWERING:
        module = getattr(relax.transform, name)()(module)
    return module


def edited(module: Any, name: str, edit: Callable[[list[Any]], list[Any]]) -> Any:
    """Change the arguments of the last call of a packed function."""
    calls: list[Any] = []
    relax.analysis.post_order_visit(module["main"].body, calls.append)
    last = [each for each in calls if isinstance(each, relax.Call) and getattr(each.op, "global_symbol", "") == name][
        -1
    ]

    @relax.expr_functor.mutator
    class Editor(relax.PyExprMutator):
        def visit_call_(self, call: Any) -> Any:
            if call.same_as(last):
                return relax.Call(call.op, edit(list(call.args)), call.attrs, call.ty_args)
            return call

    changed = tvm.IRModule(dict(module.functions_items()), global_infos=module.global_infos)
    changed[changed.get_global_var("main")] = Editor().visit_expr(module["main"])
    return changed


def test_a_whole_lowering_is_proved() -> None:
    assert prove(legalized(), lowered()).result is Result.PROVED


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("vm.builtin.make_shape", lambda args: [*args[:2], args[2], args[5], args[4], args[3]]),  # dims exchanged
        (
            "vm.builtin.make_shape",
            lambda args: [*args[:2], tvm.tirx.IntImm("int64", 0), *args[3:]],
        ),  # a number for a slot
    ],
)
def test_a_wrong_slot_is_not_proved(name: str, edit: Callable[[list[Any]], list[Any]]) -> None:
    module = lowered()
    assert prove(legalized(), edited(module, name, list)).result is Result.PROVED, "the same arguments"
    assert prove(legalized(), edited(module, name, edit)).result is not Result.PROVED


def test_a_slot_that_nobody_has_written_is_refuted() -> None:
    wrong = edited(
        lowered(), "vm.builtin.make_shape", lambda args: [*args[:3], tvm.tirx.IntImm("int64", 77), *args[4:]]
    )
    proof = prove(legalized(), wrong)
    assert (proof.result, proof.reason) == (
        Result.DIFFERENT,
        "a slot of the shape heap is read before it is written",
    )


def test_a_number_that_a_kernel_computes_is_proved() -> None:
    x = relax.Var("x", relax.TensorType((n := tvm.tirx.Var("n", "int64"), 2), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(n * 2 + 1))
    before = builder.get()
    after = relax.transform.ComputePrimValue()(before)
    assert len(after.get_global_vars()) == 2
    assert prove(before, after).result is Result.PROVED


def test_captured_graphs_are_proved() -> None:
    @I.ir_module
    class Static:
        @R.function
        def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                one = R.exp(x)
                other = R.add(one, one)
                last = R.multiply(other, one)
                R.output(last)
            return last

    module = relax.transform.LegalizeOps()(Static)
    for name in ("ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite", "StaticPlanBlockMemory"):
        module = getattr(relax.transform, name)()(module)
    with tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        after = relax.transform.RewriteCUDAGraph()(module)
    assert "cuda_graph" in after.script()
    assert prove(Static, after).result is Result.PROVED


def test_a_call_is_legalized_once_for_all_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    before = builder.get()
    after, legalize = relax.transform.LegalizeOps()(before), relax.transform.LegalizeOps
    count: list[int] = []
    monkeypatch.setattr(legalize_module, "_legalizations", {})
    monkeypatch.setattr(relax.transform, "LegalizeOps", lambda: count.append(1) or legalize())
    assert [prove(before, after).result for _ in range(3)] == [Result.PROVED] * 3
    assert len(count) == 1


def test_operators_that_legalization_makes_packed_calls_are_proved_in_their_order() -> None:
    def module(first: str, last: str) -> Any:
        builder = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType((3,), "float32"))
        with builder.function("main", [x], pure=False):
            for text in (first, last):
                builder.emit(relax.op.assert_op(relax.const(True), format=text))
            builder.emit_func_output(builder.emit(relax.op.nonzero(builder.emit(relax.op.nn.relu(x)))))
        return builder.get()

    after = relax.transform.LegalizeOps()(module("one", "other"))
    assert "relax.run.assert_op" in after.script()
    assert "relax.run.nonzero" in after.script()
    assert prove(module("one", "other"), after).result is Result.PROVED
    assert prove(module("one", "other"), relax.transform.RemovePurityChecking()(after)).result is Result.PROVED
    assert prove(module("other", "one"), after).result is Result.DIFFERENT
    assert prove(module("one", "one"), after).result is Result.DIFFERENT
