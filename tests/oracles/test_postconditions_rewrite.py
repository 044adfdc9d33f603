# ruff: noqa: RET504 -- the samples are TVMScript, not Python
# mypy: disable-error-code="untyped-decorator, valid-type, no-untyped-def"
"""Postconditions of the passes that replace operators: what each does satisfies them, and doing nothing does not."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sample_modules as samples
import tvm
from claims_of_passes import assert_claims, broken, idle, name_of, ran, said
from test_verdicts_of_inputs import four_factors
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from verdict_rows import made, ref, tensor

from oracles.core.module_facts import equal
from relaxkit.passes.claims import rewrite
from relaxkit.passes.claims.algebra import dearer_order_left
from relaxkit.passes.claims.rewrite import refused_yet_changed
from relaxkit.passes.contract import (
    Ran,
)


def main_of(params: Mapping[str, tuple[int, ...]], build: Any) -> Any:
    """A module with a function of one dataflow block, which ``build(builder, *params)`` makes."""
    builder = relax.BlockBuilder()
    variables = [relax.Var(name, relax.TensorType(shape, "float32")) for name, shape in params.items()]
    with builder.function("main", variables):
        with builder.dataflow():
            output = builder.emit_output(build(builder, *variables))
        builder.emit_func_output(output)
    return builder.finalize()


def const(*shape: int) -> Any:
    return relax.const(np.ones(shape, "float32"), "float32")


op = relax.op


def chain() -> Any:
    shapes = {"x": (2, 64), "a": (64, 64), "b": (64, 2)}
    return main_of(shapes, lambda bb, x, a, b: op.matmul(bb.emit(op.matmul(x, a)), bb.emit(op.abs(b))))


def dear_chain() -> Any:
    shapes = {"x": (2, 64), "a": (64, 64), "b": (64, 64)}
    return main_of(shapes, lambda bb, x, a, b: op.matmul(x, bb.emit(op.matmul(a, b))))


def parallel() -> Any:
    shapes = {"x": (2, 4), "a": (4, 4), "b": (4, 8)}
    return main_of(shapes, lambda bb, x, a, b: relax.Tuple([bb.emit(op.matmul(x, a)), bb.emit(op.matmul(x, b))]))


def of_sum() -> Any:
    return main_of({"x": (2, 4), "a": (4, 4), "b": (4, 4)}, lambda bb, x, a, b: op.matmul(x, bb.emit(op.add(a, b))))


def of_take() -> Any:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((4, 8), "float32"), i: R.Tensor((3,), "int32")):
            with R.dataflow():
                taken = R.take(w, i, axis=1)
                y = R.matmul(x, taken)
                R.output(y)
            return y

    return Module


def of_permuted() -> Any:
    def build(bb: Any, a: Any, b: Any) -> Any:
        return op.concat([bb.emit(op.permute_dims(item, [1, 0])) for item in (a, b)], axis=0)

    return main_of({"a": (4, 3), "b": (4, 5)}, build)


def of_transposed() -> Any:
    return main_of({"x": (2, 4), "w": (8, 4)}, lambda bb, x, w: op.matmul(x, bb.emit(op.permute_dims(w))))


def undone() -> Any:
    def build(bb: Any, x: Any) -> Any:
        there = bb.emit(op.layout_transform(x, lambda i, j: (j, i)))
        return op.layout_transform(there, lambda i, j: (j, i))

    return main_of({"x": (2, 4)}, build)


def normalised() -> Any:
    def build(bb: Any, x: Any) -> Any:
        conv = bb.emit(op.nn.conv2d(x, const(4, 3, 1, 1)))
        norm = bb.emit(op.nn.batch_norm(conv, const(4), const(4), const(4), const(4), axis=1, training=False))
        return bb.emit(relax.TupleGetItem(norm, 0))

    return main_of({"x": (1, 3, 4, 4)}, build)


def to_decompose() -> Any:
    def build(bb: Any, x: Any, g: Any) -> Any:
        norm = bb.emit(op.nn.batch_norm(x, g, g, g, g, axis=1, training=False))
        return op.nn.layer_norm(bb.emit(relax.TupleGetItem(norm, 0)), g, g, axes=[1])

    return main_of({"x": (2, 4), "g": (4,)}, build)


def elementwise() -> Any:
    return main_of({"x": (2, 4)}, lambda bb, x: op.add(bb.emit(op.tanh(bb.emit(op.exp(x)))), const(2, 4)))


def folded() -> Any:
    return main_of({"x": (2, 4)}, lambda bb, x: op.add(bb.emit(op.multiply(const(2, 4), const(2, 4))), x))


def sampled() -> Any:
    @I.ir_module
    class Module:
        @R.function
        def main(p: R.Tensor((3, 5), "float32"), u: R.Tensor((3, 1), "float32"), i: R.Tensor((3, 1), "int64")):
            with R.dataflow():
                y = R.multinomial_from_uniform(p, u, i, dtype="int64")
                R.output(y)
            return y

    return Module


OPERATORS = {"no composite operator is left"}

NOTHING: dict[str, tuple[Any, set[str]]] = {
    "relax.transform.AdjustMatmulOrder()": (dear_chain, {"no product of three is in the dearer order"}),
    "relax.transform.CombineParallelMatmul()": (parallel, {"no two products of one tensor are left"}),
    "relax.transform.CombineParallelMatmul(check=lambda *_: False)": (parallel, set()),
    "relax.transform.ExpandMatmulOfSum()": (of_sum, {"no product of a sum is left"}),
    "relax.transform.ReorderTakeAfterMatmul()": (of_take, {"no product with taken columns is left"}),
    "relax.transform.ReorderPermuteDimsAfterConcat()": (of_permuted, {"no concatenation of permuted tensors is left"}),
    "relax.transform.FuseTransposeMatmul()": (of_transposed, {"no product with a transposed matrix is left"}),
    "relax.transform.OptimizeLayoutTransform()": (undone, {"no transformation that is undone is left"}),
    "relax.transform.FoldBatchnormToConv2D()": (normalised, {"no batch_norm that folds is left"}),
    'relax.transform.ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})': (samples.convolution, {
        "convolutions have the layouts asked for",
    }),
    "relax.transform.DataflowUseInplaceCalls()": (elementwise, set()),
    "relax.transform.DecomposeOpsForInference()": (to_decompose, OPERATORS),
    'relax.transform.DecomposeOpsForInference("main")': (to_decompose, OPERATORS),
    "relax.transform.DecomposeOpsForTraining()": (to_decompose, OPERATORS),
    "relax.transform.FastMathTransform()": (elementwise, {"no expensive function is left"}),
    "relax.transform.FoldConstant()": (folded, {"no simple call over constants is left"}),
    "relax.transform.LegalizeOps()": (elementwise, {"no operator that legalizes is left"}),
    'relax.transform.LegalizeOps(skip_ops=["relax.exp"])': (elementwise, {"no operator that legalizes is left"}),
    "relax.transform.ToMixedPrecision()": (chain, {"operands of narrow operators are narrow"}),
    "relax.backend.DispatchSampling()": (sampled, {"no sampling operator is left"}),
    "relax.backend.DispatchSortScan()": (samples.sorted_values, {"no operator of sorting or scanning is left"}),
}  # fmt: skip
"""Pass -> a module, and the claims that a pass breaks that gives this module back."""


@pytest.mark.parametrize("expression", list(NOTHING))
def test_what_the_pass_gives_satisfies_its_claims_and_doing_nothing_breaks_them(expression: str) -> None:
    assert_claims(expression, *NOTHING[expression])


def test_every_row_is_tried() -> None:
    from relaxkit.passes.contracts.algebra import ROWS as ALGEBRA
    from relaxkit.passes.contracts.rewrite import ROWS as REWRITE

    assert {row.name for row in (*ALGEBRA, *REWRITE)} == {name_of(expression) for expression in NOTHING}


def test_combining_what_the_check_refuses_is_seen() -> None:
    given = ran(parallel(), "relax.transform.CombineParallelMatmul()")
    wrong = Ran(given.before, given.after, {"check": lambda *_: False})
    assert said("what the check refuses stays", wrong, "CombineParallelMatmul")


@pytest.mark.parametrize(("value", "axis"), [("inner", 0), ("weights", 1)])
def test_a_pattern_that_may_stay_is_not_claimed(value: str, axis: int) -> None:
    """A sum that is read twice is needed anyway; one of weights alone is lifted out of the function later on."""
    module = of_sum()
    main = module["main"]
    if value == "inner":
        module = main_of(
            {"x": (4, 4), "a": (4, 4), "b": (4, 4)},
            lambda bb, x, a, b: (lambda total: op.add(bb.emit(op.matmul(x, total)), total))(bb.emit(op.add(a, b))),
        )
    else:
        module = tvm.IRModule({"main": main.with_attr("num_input", axis)})
    assert broken(idle(module, "relax.transform.ExpandMatmulOfSum()"), "ExpandMatmulOfSum") == []


def test_an_operator_of_unknown_shape_need_not_be_legalized() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(ndim=2, dtype="float32")):
            y = R.exp(x)
            return y

    assert broken(idle(Module, "relax.transform.LegalizeOps()"), "LegalizeOps") == []


def test_a_convolution_of_another_output_layout_need_not_be_legalized() -> None:
    shapes = {"x": (1, 3, 8, 8), "w": (4, 3, 3, 3)}
    module = main_of(shapes, lambda bb, x, w: op.nn.conv2d(x, w, out_layout="NHWC"))
    expression = "relax.transform.LegalizeOps()"
    assert broken(ran(module, expression), "LegalizeOps") == broken(idle(module, expression), "LegalizeOps") == []


GIVEN_BACK_BEFORE_0_26 = (
    ({"x": (2, 3)}, lambda bb, x: op.nn.dropout(x, 0.5)),
    ({"x": (1, 2, 4), "w": (2, 1, 2)}, lambda bb, x, w: op.nn.conv1d_transpose(x, w, dilation=2)),
)


@pytest.mark.parametrize(("shapes", "build"), GIVEN_BACK_BEFORE_0_26)
def test_what_a_legalization_of_this_release_gives_back_need_not_be_legalized(shapes: Any, build: Any) -> None:
    assert broken(ran(main_of(shapes, build), "relax.transform.LegalizeOps()"), "LegalizeOps") == []


class Asked:
    """A call of an operator whose legalization is ``legalize``."""

    def __init__(self, legalize: Callable[[Any, Any], Any]) -> None:
        self.op = SimpleNamespace(get_attr={"FLegalize": legalize}.get)

    def same_as(self, other: object) -> bool:
        return self is other


def refuse(builder: Any, call: Any) -> Any:
    raise ValueError("no such layout")


def say_so(builder: Any, call: Any) -> Any:
    logging.info("cannot be legalized")
    return call


def test_only_a_legalization_that_gives_the_call_back_and_says_so_declines() -> None:
    level, handlers = logging.getLogger().level, list(logging.getLogger().handlers)
    assert rewrite.declined(Asked(say_so))
    assert not rewrite.declined(Asked(lambda builder, call: call)), "left behind silently, as in TVM's issue 17175"
    assert not rewrite.declined(Asked(lambda builder, call: Asked(say_so(builder, None) or refuse)))
    assert (logging.getLogger().level, logging.getLogger().handlers) == (level, handlers)
    assert not rewrite.declined(Asked(refuse))


def test_a_named_function_alone_is_decomposed() -> None:
    module = to_decompose()
    both = tvm.IRModule({"main": module["main"], "other": module["main"].with_attr("global_symbol", "other")})
    named = ran(both, 'relax.transform.DecomposeOpsForInference("main")')
    assert broken(named, "DecomposeOpsForInference") == []
    everywhere = relax.transform.DecomposeOpsForInference()(both)
    wrong = Ran(both, everywhere, named.arguments)
    assert broken(wrong, "DecomposeOpsForInference") == ["other functions stay"]


@pytest.mark.parametrize(("check", "judged"), [(lambda *_: False, True), (lambda a, rhs, b, c: len(rhs) == 2, False)])
def test_a_check_that_accepts_some_products_refuses_nothing_for_certain(check, judged):
    before = samples.matmuls()
    after = relax.transform.CombineParallelMatmul()(before)
    assert not equal(before, after)
    assert bool(refused_yet_changed(Ran(before, after, {"check": check}))) is judged


def test_dead_products_may_go_where_a_check_refuses_to_combine():
    def products(count):
        bb = relax.BlockBuilder()
        x, y, z = (relax.Var(name, tensor((2, 2))) for name in "xyz")
        with bb.function("main", [x, y, z]):
            outs = [bb.emit(relax.op.matmul(x, each)) for each in (y, z)[-count:]]
            bb.emit_func_output(outs[-1])
        return bb.get()

    def combined():
        bb = relax.BlockBuilder()
        x, y, z = (relax.Var(name, tensor((2, 2))) for name in "xyz")
        with bb.function("main", [x, y, z]):
            both = bb.emit(relax.op.matmul(x, bb.emit(relax.op.concat([y, z], 1))))
            bb.emit_func_output(bb.emit(relax.op.strided_slice(both, [1], [2], [4])))
        return bb.get()

    refusing = {"check": lambda *_: False}
    assert refused_yet_changed(Ran(products(2), products(1), refusing)) == ""
    assert refused_yet_changed(Ran(products(2), combined(), refusing)) != ""


def test_of_a_product_of_four_one_way_is_weighed_up() -> None:
    """The pass looks for a product on the left first, and at most at one."""
    order = ref("AdjustMatmulOrder")

    def nested(builder: Any, a: Any, b: Any, c: Any) -> Any:
        return builder.emit_output(relax.op.matmul(a, builder.emit(relax.op.matmul(b, c))))

    kept = order.build()(four_factors())
    assert kept.script().count("R.matmul(lv, lv1") == 1  # though ((a b) c) d takes fewer multiplications

    def chained(builder: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        left = builder.emit(relax.op.matmul(builder.emit(relax.op.matmul(a, b)), c))
        return builder.emit_output(relax.op.matmul(left, d))

    four = order.build()(made((2, 2), (2, 2), (2, 3), (3, 1), build=chained))  # (a b) (c d) takes fewer
    assert "R.matmul(lv1, " in four.script()
    assert not dearer_order_left(Ran(four, four, {}))
    dearer = made((1, 8), (8, 1), (1, 8), build=nested)
    assert dearer_order_left(Ran(dearer, dearer, {})).startswith("a product of three")


def test_only_operators_that_are_always_computed_in_float16_must_have_a_policy() -> None:
    x = relax.Var("x", tensor((1,)))
    assert rewrite.inferred_otherwise(relax.op.outer(x, x))
    assert not rewrite.inferred_otherwise(relax.op.sin(x))
