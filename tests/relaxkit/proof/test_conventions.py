"""Passes that change how functions are called are proved through the calls that they ask for; wrong ones are not."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from shared.proofs import proof_of
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from oracles.core.subject import Subject
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


@I.ir_module
class Nested:
    @R.function
    def main(x: R.Tensor(("n", 2), "float32"), y: R.Tensor(("n", 2), "float32")) -> R.Tuple(
        R.Tuple(R.Tensor(("n", 2), "float32")), R.Tensor(("n", 2), "float32")
    ):
        with R.dataflow():
            difference = R.subtract(x, y)
            product = R.multiply(x, difference)
            R.output(difference, product)
        return ((difference,), product)


PASSES = [
    ("LazySetOutput", "relax.transform.LazySetOutput()", Nested),
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
        assert str(prove(Wide, narrow)) == "open in main: a check or a call that may fail"


def test_a_parameter_of_another_type_is_not_proved_although_nothing_reads_it() -> None:
    def module(annotation: relax.TensorType) -> Any:
        builder = relax.BlockBuilder()
        x, unused = relax.Var("x", relax.TensorType((2,), "float32")), relax.Var("unused", annotation)
        with builder.function("main", [x, unused]):
            builder.emit_func_output(builder.emit(relax.op.add(x, x)))
        return builder.get()

    before = module(relax.TensorType((2, 2), "float32"))
    for other in (relax.TensorType((2, 2), "float16"), relax.TensorType((2,), "float32")):
        assert str(prove(before, module(other))) == "open in main: a check or a call that may fail"
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
    assert str(prove(module(dim), module(5))) == "open in main: a check or a call that may fail"


def retyped(narrow: str) -> str:
    return (
        "relax.transform.UpdateParamType(lambda var: "
        f"relax.TensorType(var.ty.shape, '{narrow}') if var.ty.dtype == 'float32' else None)"
    )


@pytest.mark.parametrize("narrow", ["float16", "float64"])
def test_parameters_of_another_dtype_are_cast_by_the_caller(narrow: str) -> None:
    judged = subject("UpdateParamType", retyped(narrow), Nested)
    proof = proof_of(judged)
    assert proof.result is Result.PROVED, proof
    assert not proof.exact
    contract = contract_for(PassRef("UpdateParamType", retyped(narrow)))

    @tvm.transform.module_pass(opt_level=0, name="UpdateParamType")
    def wrong(given: Any, _context: Any) -> Any:
        return _Swapping().run(PassRef("UpdateParamType", retyped(narrow)).build()(given))

    swapped = Subject(Nested, [GivenPass("UpdateParamType", retyped(narrow), wrong)], [contract], input_seed=1)
    assert proof_of(swapped).result is Result.DIFFERENT


def test_callbacks_get_what_the_caller_means_for_them() -> None:
    @tvm.script.ir_module
    class Before:
        @R.function
        def transform_params(weights: R.Tuple(R.Tensor((2,), "float32"))) -> R.Tuple(R.Tensor((2,), "float32")):
            with R.dataflow():
                one = weights[0]
                other = R.exp(one)
                transformed = (other,)
                R.output(transformed)
            return transformed

    name = "LazyTransformParams"
    expression = f"relax.transform.{name}(extra_get_item_params=[relax.Var('loader', tvm.ir.PrimType('int64'))])"
    right = PassRef(name, expression)
    assert str(proof_of(subject(name, expression, Before))) == "proved"

    @tvm.transform.module_pass(opt_level=0, name=name)
    def wrong(given: Any, _context: Any) -> Any:
        return _other_token(right.build()(given))

    judged = Subject(Before, [GivenPass(name, expression, wrong)], [contract_for(right)], input_seed=1)
    assert proof_of(judged).reason == "a callback that is given other arguments than the caller's"


def _other_token(module: Any) -> Any:
    """Hand another number to the callback that fetches weights."""

    @relax.expr_functor.mutator
    class Other(relax.PyExprMutator):
        def visit_call_(self, call: Any) -> Any:
            call = super().visit_call_(call)
            if not isinstance(call.op, relax.ExternFunc) or str(call.op.global_symbol) != "get_item":
                return call
            return relax.Call(call.op, [tvm.tirx.IntImm("int64", 7), *call.args[1:]], call.attrs, call.ty_args)

    return tvm.IRModule({var: Other().visit_expr(each) for var, each in module.functions_items()})


def test_code_of_another_generator_is_the_function_that_it_was_handed() -> None:
    def given(swapped: bool) -> Any:
        x, y = (relax.Var(name, relax.TensorType((2, 3), "float32")) for name in "xy")
        builder = relax.BlockBuilder()
        with builder.function("main", [x, y]):
            with builder.dataflow():
                operands = (y, x) if swapped else (x, y)
                out = builder.emit_output(relax.op.subtract(*operands))
            builder.emit_func_output(out)
        pattern = relax.dpl.is_op("relax.subtract")(relax.dpl.wildcard(), relax.dpl.wildcard())
        return relax.transform.FuseOpsByPattern([("pyext.subtract", pattern)], annotate_codegen=True)(builder.get())

    ref = PassRef("RunCodegen", "relax.transform.RunCodegen()")
    before = given(swapped=False)
    after = ref.build()(before)
    assert "call_dps_packed" in after.script()
    assert prove(before, after).result is Result.PROVED
    crossed = tvm.IRModule(
        {var: _crossed(each) for var, each in after.functions_items() if isinstance(each, relax.Function)}
    )
    assert prove(before, crossed).result is Result.DIFFERENT


def _crossed(function: Any) -> Any:
    """Exchange the operands of calls of external code."""

    @relax.expr_functor.mutator
    class Crossing(relax.PyExprMutator):
        def visit_call_(self, call: Any) -> Any:
            call = super().visit_call_(call)
            if not isinstance(call.op, tvm.ir.Op) or call.op.name != "relax.call_dps_packed":
                return call
            name, operands = call.args
            return relax.Call(call.op, [name, relax.Tuple(list(operands.fields)[::-1])], call.attrs, call.ty_args)

    return Crossing().visit_expr(function)


def test_a_shape_is_made_of_its_own_dims() -> None:
    def module(*dims: int) -> Any:
        builder = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType((2,), "int64"))
        with builder.function("main", [x]):
            shape = builder.emit(relax.op.tensor_to_shape(x))
            sizes = [tvm.tirx.Var(f"n{axis}", "int64") for axis in range(2)]
            builder.match_cast(shape, relax.ShapeType(sizes))
            builder.emit_func_output(relax.ShapeExpr([sizes[axis] for axis in dims]) if dims else shape)
        return builder.get()

    assert prove(module(), module(0, 1)).result is Result.PROVED
    for dims in ((1, 0), (0, 0), (0,)):
        assert prove(module(), module(*dims)).result is Result.DIFFERENT
