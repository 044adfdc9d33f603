"""Passes that change how functions are called are proved through the calls that they ask for; wrong ones are not."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from oracles.core.subject import Subject
from oracles.numeric.oracle import proof_of
from relaxkit.passes.contract import Contract
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.pass_ref import GivenPass, PassRef
from relaxkit.proof import Result, prove


@I.ir_module
class Model:
    @R.function
    def main(
        x: R.Tensor(("n", 2), "float32"), v: R.Tensor((2, 2), "float32"), w: R.Tensor((2, 2), "float32")
    ) -> R.Tuple(R.Tensor(("n", 2), "float32"), R.Tensor((2, 2), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            transformed = R.subtract(v, w)
            product = R.matmul(x, transformed)
            R.output(transformed, product)
        return (product, transformed)


@I.ir_module
class Transform:
    @R.function
    def transform_params(weights: R.Tuple(R.Tensor((2, 2), "float32"), R.Tensor((2, 2), "float32"))) -> R.Tuple(
        R.Tensor((2, 2), "float32"), R.Tensor((2, 2), "float32")
    ):
        with R.dataflow():
            one = weights[0]
            other = weights[1]
            difference = R.subtract(one, other)
            total = R.add(one, other)
            transformed = (difference, total)
            R.output(transformed)
        return transformed


PASSES = [
    ("LiftTransformParams", "relax.transform.LiftTransformParams()", Model),
    ("LiftTransformParams", "relax.transform.LiftTransformParams(shared_transform=True)", Model),
    ("BundleModelParams", "relax.transform.BundleModelParams()", Model),
    ("LazyGetInput", "relax.transform.LazyGetInput()", Model),
    ("LazySetOutput", "relax.transform.LazySetOutput()", Model),
    ("BindParams", "relax.transform.BindParams('main', {'w': np.ones((2, 2), 'float32')})", Model),
    ("LazyTransformParams", "relax.transform.LazyTransformParams()", Transform),
]


def subject(name: str, expression: str, module: Any) -> Subject:
    ref = PassRef(name, expression)
    return Subject(module, [ref], [contract_for(ref)], input_seed=1)


@pytest.mark.parametrize(("name", "expression", "module"), PASSES)
def test_a_changed_convention_is_proved_through_its_calls(name: str, expression: str, module: Any) -> None:
    judged = subject(name, expression, module)
    assert judged.changed
    assert str(proof_of(judged)) == "proved"
    assert prove(judged.module, judged.output_module).result is Result.OPEN, "without the convention"


@pytest.mark.parametrize(("name", "expression", "module"), PASSES)
def test_a_wrong_body_behind_a_changed_convention_is_not_proved(name: str, expression: str, module: Any) -> None:
    ref = PassRef(name, expression)
    contract: Contract = contract_for(ref)

    @tvm.transform.module_pass(opt_level=0, name=name)
    def wrong(given: Any, _context: Any) -> Any:
        return _Swapping().run(ref.build()(given))

    judged = Subject(module, [GivenPass(name, expression, wrong)], [contract], input_seed=1)
    proof = proof_of(judged)
    assert proof.result is Result.DIFFERENT, proof
    assert "relax.subtract" in proof.reason or "relax.matmul" in proof.reason


@relax.expr_functor.mutator
class _Swapping(relax.PyExprMutator):
    """Exchanges the operands of subtractions, wherever the pass has put them."""

    def run(self, module: Any) -> Any:
        for var, function in module.functions_items():
            if isinstance(function, relax.Function):
                module = tvm.IRModule({**dict(module.functions_items()), var: self.visit_expr(function)})
        return module

    def visit_call_(self, call: Any) -> Any:
        call = super().visit_call_(call)
        if call.op.name != "relax.subtract" if isinstance(call.op, tvm.ir.Op) else True:
            return call
        return relax.Call(call.op, [call.args[1], call.args[0]], call.attrs, call.ty_args)


def test_a_parameter_that_admits_fewer_shapes_is_not_proved() -> None:
    @I.ir_module
    class Wide:
        @R.function
        def main(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(ndim=2, dtype="float32"):
            return x

    @I.ir_module
    class Square:
        @R.function
        def main(x: R.Tensor(("n", "n"), "float32")) -> R.Tensor(ndim=2, dtype="float32"):
            return x

    @I.ir_module
    class Static:
        @R.function
        def main(x: R.Tensor((2, "m"), "float32")) -> R.Tensor(ndim=2, dtype="float32"):
            return x

    assert prove(Square, Wide).result is Result.PROVED
    assert prove(Static, Wide).result is Result.PROVED
    for narrow in (Square, Static):
        assert str(prove(Wide, narrow)) == "open in main: a check that may fail"


def test_a_parameter_of_another_type_is_not_proved_although_nothing_reads_it() -> None:
    def module(annotation: relax.TensorType) -> Any:
        builder = relax.BlockBuilder()
        x, unused = relax.Var("x", relax.TensorType((2,), "float32")), relax.Var("unused", annotation)
        with builder.function("main", [x, unused]):
            builder.emit_func_output(builder.emit(relax.op.add(x, x)))
        return builder.get()

    before = module(relax.TensorType((2, 2), "float32"))
    for other in (relax.TensorType((2, 2), "float16"), relax.TensorType((2,), "float32")):
        assert str(prove(before, module(other))) == "open in main: a check that may fail"
    assert prove(before, module(relax.TensorType(ndim=2, dtype="float32"))).result is Result.PROVED


def test_dims_that_are_bound_are_proved_for_the_values_they_are_bound_to() -> None:
    expression = "relax.transform.BindSymbolicVars({'n': 3})"
    assert str(proof_of(subject("BindSymbolicVars", expression, Model))) == "proved"


def test_dims_of_one_function_say_nothing_of_another() -> None:
    def module(result: str) -> Any:
        builder = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType((2, 3), "float32"))
        with builder.function("first", [x]):
            builder.emit_func_output(builder.emit(relax.op.exp(x)))
        y = relax.Var("y", relax.TensorType((tvm.tirx.Var("n", "int64"), 3), "float32"))
        with builder.function("second", [y]):
            shape = relax.op.shape_of(y) if result == "shape_of" else relax.ShapeExpr([2, 3])
            builder.emit_func_output(builder.emit(shape))
        return builder.get()

    assert prove(module("shape_of"), module("shape_of")).result is Result.PROVED
    assert prove(module("shape_of"), module("constant")).result is Result.DIFFERENT


def test_a_callee_that_admits_fewer_shapes_is_not_proved() -> None:
    def module(rows: Any) -> Any:
        builder = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType((rows, 3), "float32"))
        with builder.function("callee", [x], private=True):
            builder.emit_func_output(builder.emit(relax.op.exp(x)))
        callee = builder.get().get_global_var("callee")
        y = relax.Var("y", relax.TensorType((4, 3), "float32"))
        with builder.function("main", [y]):
            call = relax.Call(callee, [y])
            relax.expr._update_type(call, relax.TensorType((4, 3), "float32"))
            builder.emit_func_output(builder.emit(call))
        return builder.get()

    dim = tvm.tirx.Var("n", "int64")
    assert prove(module(dim), module(4)).result is Result.PROVED
    assert str(prove(module(dim), module(5))) == "open in main: a check that may fail"
