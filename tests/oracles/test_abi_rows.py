"""Every way to call a transformed module that TVM's passes ask for, executed: the numeric oracle passes through it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numeric_samples as samples
import pytest
import sample_modules
import tvm
from tvm import relax

from oracles import Subject
from oracles.calling import Convention, adapters_of, call, prepare
from oracles.calling.lazy import token_of
from oracles.core.module_facts import equal
from oracles.core.verdict import Outcome, Verdict
from oracles.measure.comparison import compare
from oracles.measure.inputs import materialize
from oracles.numeric.oracle import judge_numeric
from relaxkit.passes.contract import Abi
from relaxkit.passes.pass_ref import PassRef
from relaxkit.runtime import session

op = relax.op
T = "relax.transform."
RANK = '[relax.Var("rank", tvm.ir.PrimType("int64"))]'
SHAPE = '[relax.Var("dims", relax.ShapeType(ndim=1))]'


def judged(module: Any, *passes: str) -> Verdict:
    refs = [PassRef(text.partition("(")[0].rpartition(".")[2], text) for text in passes]
    return judge_numeric(Subject(module, refs, input_seed=5))


def assert_passes(verdict: Verdict) -> None:
    assert verdict.outcome is Outcome.PASS, verdict


def test_parameters_are_bound_by_variable() -> None:
    text = (
        'tvm.transform.module_pass(lambda mod, ctx: relax.transform.BindParams("main", '
        '{p: v for p in mod["main"].params for n, v in '
        '[("w", np.full((8, 8), 0.5, "float32")), ("c", np.ones((8,), "float32"))] if p.name == n})(mod), '
        'opt_level=0, name="BindParams")'
    )
    module = samples.weighted()
    assert len(PassRef("BindParams", text).build()(module)["main"].params) == 2
    assert_passes(judge_numeric(Subject(module, [PassRef("BindParams", text)], input_seed=5)))


def test_a_private_function_is_bound_unseen() -> None:
    bb = relax.BlockBuilder()
    x, w = samples.var("x"), samples.var("w")
    with bb.function("inner", [x, w], private=True):
        inner = bb.emit_func_output(bb.emit(op.add(x, w)))
    y = samples.var("y")
    with bb.function("main", [y]):
        bb.emit_func_output(bb.emit(relax.Call(inner, [y, y])))
    text = f'{T}BindParams("inner", {{"w": np.ones((2, 3), "float32")}})'
    # Its caller passes two arguments still: who binds a callee must change the callers.
    assert judged(bb.finalize(), text).reason == "bound function is called inside the module"


@pytest.mark.parametrize("shared", ["", "shared_transform=True"])
def test_weights_are_lifted_twice(shared: str) -> None:
    lift = f"{T}LiftTransformParams({shared})"
    # Where lifting was told to stop it goes on in the second run.
    bb = relax.BlockBuilder()
    x, v, w = samples.var("x", (4, 8)), samples.var("v", (8, 8)), samples.var("w", (8, 8))
    with bb.function("main", [x, v, w], attrs={"num_input": 1}):
        with bb.dataflow():
            a, b = bb.emit(op.exp(v)), bb.emit(op.builtin.stop_lift_params(w))
            out = bb.emit_output(op.matmul(bb.emit(op.matmul(x, a)), bb.emit(op.permute_dims(b))))
        bb.emit_func_output(out)
    module = bb.finalize()
    once = PassRef("", lift).build()(module)
    assert not equal(once, PassRef("", lift).build()(once))
    assert_passes(judged(module, lift, lift))


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_parameters_take_another_dtype(dtype: str) -> None:
    text = f'{T}UpdateParamType(lambda var: relax.TensorType(var.ty.shape, "{dtype}"))'
    assert_passes(judged(samples.weighted(), text))


def test_a_wrong_value_of_another_dtype_fails() -> None:
    def retyped(body: Any) -> Any:
        x = samples.var("x", dtype="float64")
        return samples.function([x], lambda bb: bb.emit(body(x)))

    x = samples.var("x")
    before = samples.function([x], lambda bb: bb.emit(op.negative(x)))
    arguments = materialize(before, "main", 5)
    expected = session().build(before).call("main", arguments)
    for body, same in ((op.negative, True), (op.abs, False)):
        after = retyped(body)
        adapters = adapters_of([Convention("UpdateParamType", Abi.RETYPE_PARAMS, "", before, after)])
        observed = call(session().build(after), adapters, "main", None, arguments)
        assert (compare(expected, observed) is None) is same


@pytest.mark.parametrize(
    "extra", [f"extra_get_item_params={RANK}", f"{RANK[:-1]}]", SHAPE], ids=["get", "both", "shape"]
)
def test_callbacks_get_extra_arguments(extra: str) -> None:
    arguments = extra if extra.startswith("extra") else f"extra_get_item_params={extra}, extra_set_item_params={extra}"
    assert_passes(judged(samples.weighted(), f"{T}LazyTransformParams({arguments})"))


def test_extra_arguments_are_bundled_as_the_weights_were() -> None:
    """920ff14068: the transform function keeps ``num_input``, behind which all parameters become one tuple."""
    lazy = f"{T}LazyTransformParams(extra_get_item_params={RANK})"
    assert_passes(judged(samples.weighted(), lazy, f"{T}BundleModelParams()"))


def test_a_lost_extra_argument_is_an_error() -> None:
    module = samples.weighted()
    refs = [f"{T}{name}()" for name in ("LiftTransformParams", "ToNonDataflow", "RemovePurityChecking")]
    lifted = convention(refs[0], Abi.LIFT_TRANSFORM_PARAMS, module)
    ready = PassRef("", refs[2]).build()(PassRef("", refs[1]).build()(lifted.after))
    lazy = convention(f"{T}LazyTransformParams(extra_get_item_params={RANK})", Abi.LAZY_TRANSFORM_PARAMS, ready)
    adapters = adapters_of([lifted, lazy])
    prepare(adapters)
    arguments = materialize(module, "main", 5)
    right = session().build(lazy.after)
    assert compare(session().build(module).call("main", arguments), call(right, adapters, "main", 1, arguments)) is None
    wrong = session().build(with_number(lazy.after, "main_transform_params"))
    with pytest.raises(RuntimeError, match="other extra arguments"):
        call(wrong, adapters, "main", 1, arguments)


def with_number(module: Any, name: str) -> Any:
    """The module with a number of its own in place of a function's first parameter."""
    function = module[name]

    @relax.expr_functor.mutator
    class Fix(relax.PyExprMutator):  # type: ignore[misc]  # TVM ships no types
        def visit_var_(self, var: Any) -> Any:
            return relax.prim_value(77) if var.same_as(function.params[0]) else var

    body = Fix().visit_expr(function.body)
    changed = tvm.IRModule(dict(module.functions_items()), attrs=module.attrs)
    changed[name] = relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs)
    return changed


def test_an_extra_argument_of_a_strange_type_has_no_adapter() -> None:
    with pytest.raises(TypeError, match="no argument of type"):
        token_of(relax.AnyType())


def convention(text: str, abi: Abi, module: Any) -> Convention:
    return Convention(text.partition("(")[0].rpartition(".")[2], abi, text, module, PassRef("", text).build()(module))


def trained(*attrs: int) -> Any:
    """A function of one dataflow block that ends in a scalar, with weights."""
    bb = relax.BlockBuilder()
    x, w, b = samples.var("x", (2, 3)), samples.var("w", (4, 3)), samples.var("b", (2, 4))
    with bb.function("main", [x, w, b], attrs={"num_input": attrs[0]} if attrs else {}):
        with bb.dataflow():
            y = bb.emit(op.add(bb.emit(op.matmul(x, bb.emit(op.permute_dims(w)))), b))
            out = bb.emit_output(op.sum(bb.emit(op.tanh(y))))
        bb.emit_func_output(out)
    return bb.finalize()


@pytest.mark.parametrize(
    "later",
    [
        (),
        (f"{T}BundleModelParams()",),
        (f"{T}ToNonDataflow()", f"{T}LazyGetInput()"),
        (f"{T}LegalizeOps()", f"{T}AnnotateTIROpPattern()", f"{T}FuseOps()"),
    ],
    ids=lambda later: "-".join(text[len(T) : -2] for text in later) or "alone",
)
def test_gradients_are_judged_along_a_pipeline(later: tuple[str, ...]) -> None:
    assert_passes(judged(trained(1), f'{T}Gradient("main")', *later))


def test_a_convention_changed_before_leaves_nothing_to_differentiate() -> None:
    seen = judged(trained(1), f"{T}BundleModelParams()", f'{T}Gradient("main")')
    assert seen.outcome in (Outcome.PASS, Outcome.SKIP)  # what the function itself returns is compared


def test_symbolic_dims_are_bound() -> None:
    n = tvm.tirx.Var("n", "int64")
    x = samples.var("x", (n, 3))
    module = samples.function([x], lambda bb: bb.emit(op.exp(x)))
    assert_passes(judged(module, f'{T}BindSymbolicVars({{"n": 2}})'))


@pytest.mark.parametrize(
    ("sample", "expression"),
    [
        (sample_modules.vdevices, f'{T}UpdateVDevice(relax.VDevice("llvm", 0, "global"), 0)'),
        (sample_modules.private_chain, f"{T}RemoveUnusedParameters()"),
        (sample_modules.private_chain, f"{T}RemoveUnusedOutputs()"),
        (sample_modules.private_calls, f"{T}ExpandTupleArguments()"),
    ],
)
def test_callers_stay_as_they_are(sample: Callable[[], Any], expression: str) -> None:
    verdict = judged(sample(), expression)
    assert verdict.outcome is Outcome.PASS or verdict.reason == "pass changed nothing", verdict


def test_nested_outputs_come_back_through_a_callback() -> None:
    x = samples.var("x")

    def body(bb: Any) -> Any:
        a, b = bb.emit(op.exp(x)), bb.emit(op.negative(x))
        return relax.Tuple([relax.Tuple([a, b]), b])

    assert_passes(judged(samples.function([x], body), f"{T}LazySetOutput()"))


def test_bound_values_of_tvm_are_read() -> None:
    text = f'{T}BindParams("main", {{"w": tvm.runtime.tensor(np.ones((8, 8), "float32"))}})'
    assert_passes(judged(samples.weighted(), text))
