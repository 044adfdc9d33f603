"""Each adapter: the transformed module called through it returns what the original returns, bit for bit."""

from __future__ import annotations

from typing import Any

import numeric_samples as samples
import numpy as np
import pytest
from tvm import relax
from verdict_rows import ref, tensor

from oracles.calling import Convention, NoAdapter, adapters_of, call, prepare
from oracles.calling.compose import num_input_of
from oracles.core.module_facts import equal
from oracles.measure.comparison import compare
from oracles.measure.inputs import materialize
from relaxkit.ir.functions import public_functions
from relaxkit.passes.arguments import given_of
from relaxkit.passes.contract import (
    Abi,
)
from relaxkit.passes.pass_ref import PassRef
from relaxkit.runtime import session
from strategies.detect.module_facts import Parameter
from strategies.pass_arguments.binding import _by_variable

T = "relax.transform."

PASSES: dict[str, tuple[Abi, str]] = {
    "lift": (Abi.LIFT_TRANSFORM_PARAMS, f"{T}LiftTransformParams()"),
    "lift-shared": (Abi.LIFT_TRANSFORM_PARAMS, f"{T}LiftTransformParams(shared_transform=True)"),
    "lift-named": (Abi.LIFT_TRANSFORM_PARAMS, f'{T}LiftTransformParams(shared_transform=["main"])'),
    "bundle": (Abi.BUNDLE_MODEL_PARAMS, f"{T}BundleModelParams()"),
    "get": (Abi.LAZY_GET_INPUT, f"{T}LazyGetInput()"),
    "set": (Abi.LAZY_SET_OUTPUT, f"{T}LazySetOutput()"),
    "lazy-transform": (Abi.LAZY_TRANSFORM_PARAMS, f"{T}LazyTransformParams()"),
    "lazy-named": (Abi.LAZY_TRANSFORM_PARAMS, f'{T}LazyTransformParams(fget_item="fetch", fset_item="hand_over")'),
    "plain": (Abi.SAME, f"{T}ToNonDataflow()"),
    "impure": (Abi.SAME, f"{T}RemovePurityChecking()"),
    "fuse": (Abi.ADDS_FUNCTIONS, f"{T}FuseOps()"),
}
PIPELINES = (
    "lift", "lift-shared", "lift-named", "bundle", "lift bundle", "bundle lift", "lift-shared bundle", "lift lift",
    "plain get", "plain set", "plain get set", "plain set get", "lift plain get", "lift plain set",
    "lift plain get set", "bundle plain get", "plain get bundle", "plain get lift", "plain set lift", "plain set set",
    "plain get get", "bundle bundle", "lift plain impure lazy-transform", "lift-shared plain impure lazy-transform",
    "lift plain impure lazy-named", "lift bundle plain impure lazy-transform", "fuse", "lift fuse",
)  # fmt: skip

MODULES: dict[str, Any] = {
    "one-output": lambda: samples.weighted(outputs=1),
    "two-outputs": samples.weighted,
    "two-functions": lambda: samples.weighted(names=("main", "other")),
    "no-weights": samples.elementwise,
}


def applied(module: Any, refs: list[tuple[str, Abi, str]]) -> tuple[Any, list[Convention]]:
    conventions = []
    for name, abi, expression in refs:
        after = PassRef(name, expression).build()(module)
        if not equal(module, after):
            conventions.append(Convention(name, abi, expression, module, after))
        module = after
    return module, conventions


def assert_agrees(module: Any, refs: list[tuple[str, Abi, str]]) -> None:
    transformed, conventions = applied(module, refs)
    adapters = adapters_of(conventions)
    prepare(adapters)
    original, program = session().build(module), session().build(transformed)
    given = given_of([(name, expression) for name, _, expression in refs])
    for symbol, function in public_functions(module).items():
        arguments = materialize(module, symbol, 1, given)
        expected = original.call(symbol, arguments)
        assert compare(expected, call(program, adapters, symbol, num_input_of(function), arguments)) is None


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_results_agree_through_the_adapters(pipeline: str, name: str) -> None:
    if name == "no-weights" and "lift-" in pipeline:
        pytest.skip("the pass refuses a module without num_input")
    assert_agrees(MODULES[name](), [(key, *PASSES[key]) for key in pipeline.split()])


@pytest.mark.parametrize("bound", ['{"w": np.ones((8, 8), "float32")}', '{"x": np.full((4, 8), 0.5, "float32")}'])
def test_bound_parameters_take_their_value(bound: str) -> None:
    assert_agrees(samples.weighted(), [("BindParams", Abi.BIND_PARAMS, f'{T}BindParams("main", {bound})')])


def test_inputs_of_another_dtype_are_cast() -> None:
    expression = f'{T}ToMixedPrecision(out_dtype="float32", fp16_input_names=["x", "w"])'
    module = samples.weighted(outputs=1)
    transformed, conventions = applied(module, [("ToMixedPrecision", Abi.RETYPE_PARAMS, expression)])
    adapters = adapters_of(conventions)
    arguments = materialize(module, "main", 1)
    expected = session().build(module).call("main", arguments)
    observed = call(session().build(transformed), adapters, "main", 1, arguments)
    assert isinstance(expected, np.ndarray)
    np.testing.assert_allclose(expected, observed, rtol=1e-2, atol=1e-2)


def test_an_output_that_is_never_set_is_an_error_of_the_program() -> None:
    module = samples.weighted()
    _, conventions = applied(module, [(key, *PASSES[key]) for key in ("plain", "set")])
    adapters = adapters_of(conventions)
    x, w, b, c = (samples.var(name, shape) for name, shape in (("x", (4, 8)), ("w", (8, 8)), ("b", (8,)), ("c", (8,))))
    callback = relax.Var("fset", relax.FuncType([], relax.TupleType([]), purity=False))
    silent = samples.function([x, callback, w, b, c], lambda bb: relax.Tuple([]), {"num_input": 2})
    with pytest.raises(RuntimeError, match="output 0 was never set"):
        call(session().build(silent), adapters, "main", 1, materialize(module, "main", 0))


def test_a_wrong_number_of_parameters_has_no_adapter() -> None:
    module = samples.weighted()
    _, conventions = applied(module, [("bundle", *PASSES["bundle"])])
    with pytest.raises(NoAdapter):
        call(session().build(module), adapters_of(conventions), "main", 1, materialize(module, "main", 0))


def test_unknown_changes_have_no_adapter() -> None:
    module = samples.elementwise()
    convention = Convention("Other", Abi.OTHER, f"{T}Other()", module, module)
    with pytest.raises(NoAdapter, match="no adapter for this pipeline"):
        adapters_of([convention])
    extra = f'{T}LazyTransformParams(extra_get_item_params=[relax.Var("e", relax.AnyType())])'
    with pytest.raises(NoAdapter, match="no adapter for these arguments of the pass"):
        adapters_of([Convention("Lazy", Abi.LAZY_TRANSFORM_PARAMS, extra, module, module)])


def test_a_parameter_is_bound_once():
    first = 'relax.transform.BindParams("main", {"a": np.zeros(2, "float32")})'
    second = 'relax.transform.BindParams("main", {"a": np.ones(2, "float32"), "b": np.ones(2, "float32")})'
    values = given_of([("BindParams", first), ("BindParams", second)]).values
    assert values["main", "a"].tolist() == [0, 0]
    assert values["main", "b"].tolist() == [1, 1]


def test_what_is_left_to_bind_keeps_its_own_values():
    parameters = [Parameter("a", (2, 3), "float32"), Parameter("b", (3, 2), "float32")]
    texts = ['np.zeros((2, 3), "float32")', 'np.ones((3, 2), "float32")']
    both = PassRef("BindParams", _by_variable("main", parameters, texts))
    first = ref("BindParams", f'"main", {{"b": {texts[1]}}}')
    bb = relax.BlockBuilder()
    a, b = (relax.Var(each.name, tensor(each.dims)) for each in parameters)
    with bb.function("main", [a, b]):
        bb.emit_func_output(bb.emit(relax.op.matmul(a, b)))
    bound = both.build()(first.build()(bb.get()))
    assert len(bound["main"].params) == 0
    assert given_of([("BindParams", both.expression)]).values["main", "b"].shape == (3, 2)
