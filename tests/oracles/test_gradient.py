"""Numeric differentiation, and what it says of adjoints that TVM has right and wrong."""

from __future__ import annotations

import re
from typing import Any

import numeric_samples as samples
import numpy as np
import pytest
import tvm
from claims_of_passes import said
from tvm import relax

from oracles import Subject
from oracles.calling.gradient import Gradient, adapter_of
from oracles.core.module_facts import apply
from oracles.core.verdict import Outcome, Verdict
from oracles.gradient.blame import guilty_operator
from oracles.measure.finite_differences import STEPS, Leaf, settled, slope_along, wrong_gradient
from oracles.numeric.oracle import judge_numeric
from oracles.structural.postcondition import arguments
from relaxkit.passes.arguments import gradient_request
from relaxkit.passes.contract import Ran
from relaxkit.passes.pass_ref import PassRef
from strategies.pass_arguments.binding import _PRODUCT

op = relax.op
X, W = np.linspace(0.25, 1.5, 6, dtype="float32").reshape(2, 3), np.ones((2, 3), "float32")
ALL = 'relax.transform.Gradient("main")'
SOME = (
    'tvm.transform.module_pass(lambda mod, ctx: relax.transform.Gradient("main", '
    '[p for p in mod["main"].params if p.name in ("w",)], 1)(mod), opt_level=0, name="Gradient")'
)


def cubes(arguments: Any) -> float:
    return float(np.sum(arguments[0].astype("float64") ** 3 * arguments[1]))


def found(loss: Any, arguments: Any, gradients: Any) -> tuple[str, int]:
    wrong, decided = wrong_gradient(loss, arguments, range(len(gradients)), gradients, 1e-9, np.random.default_rng(0))
    return ("" if wrong is None else wrong.what), decided


def test_right_gradients_agree() -> None:
    gradients = ((3 * X**2 * W).astype("float32"), (X**3).astype("float32"))
    assert found(cubes, (X, W), gradients) == ("", 2)


@pytest.mark.parametrize("spoil", [lambda g: -g, lambda g: g * 1.05, np.flip, np.zeros_like])
def test_wrong_gradients_are_seen(spoil: Any) -> None:
    wrong = np.ascontiguousarray(spoil((3 * X**2 * W).astype("float32")))
    assert found(cubes, (X, W), (wrong,))[0] == "gradient differs from differences"


def test_a_wrong_slope_is_told_along_one_element() -> None:
    gradients, generator = ((-3 * X**2 * W).astype("float32"),), np.random.default_rng(0)
    wrong, _ = wrong_gradient(cubes, (X, W), [0], gradients, 1e-9, generator)
    assert wrong is not None
    row, column = map(int, re.findall(r"\d", wrong.where))
    assert wrong.where == f" along element [{row}, {column}]"
    slope = pytest.approx(3 * X[row, column] ** 2, rel=1e-4)
    assert (float(wrong.expected), -float(wrong.observed)) == (slope, slope)


def test_gradients_of_another_form_are_seen() -> None:
    assert found(cubes, (X, W), (W[0], W))[0] == "gradient of another type than its parameter"
    assert found(cubes, (X, W), (W.astype("float64"), W))[0] == "gradient of another type than its parameter"


def test_a_gradient_that_is_not_finite_is_wrong() -> None:
    assert found(cubes, (X, W), (np.full_like(X, np.nan),))[0] == "gradient is not finite"


def test_nothing_is_decided_at_a_kink() -> None:
    at_kink = (np.zeros((3,), "float32"),)

    def relu(arguments: Any) -> float:
        return float(np.sum(np.maximum(arguments[0], 0.0)))

    for claimed in (0.0, 0.5, 1.0):
        assert found(relu, at_kink, (np.full((3,), claimed, "float32"),)) == ("", 0)


def test_nothing_is_decided_at_a_jump() -> None:
    def floor(arguments: Any) -> float:
        return float(np.sum(np.floor(arguments[0])))

    assert found(floor, (np.full((2,), 1.0 + 2.0**-9, "float32"),), (np.ones((2,), "float32"),))[0] == ""


def test_slope_is_exact_up_to_its_error() -> None:
    direction = np.ones((2, 3))
    slope = slope_along(cubes, (X, W), Leaf((0,), X), direction, STEPS[0], 0.0)
    assert slope is not None
    exact = float(np.sum(3.0 * X.astype("float64") ** 2))
    assert abs(slope.value - exact) <= slope.error + 1e-9
    assert slope.error < 1e-4 * exact


def test_settled_points_leave_the_grid_and_stay_in_the_domain() -> None:
    grid = np.asarray([-2.0, 0.0, 2.0, 1.0], "float32")
    whole = np.asarray([1, 2])
    moved, same = settled((grid, whole), np.random.default_rng(1))
    assert same is whole
    assert moved.dtype == grid.dtype
    assert float(np.abs(moved).max()) + STEPS[0] <= 2.0
    # steps from it are exact: few enough binary digits
    assert np.array_equal(moved * 2048, np.round(moved * 2048))


def test_expressions_are_read_back() -> None:
    every, some = gradient_request(ALL), gradient_request(SOME)
    assert every is not None
    assert some is not None
    assert (every.function, every.parameters, every.target) == ("main", None, 0)
    assert (some.function, some.parameters, some.target) == ("main", ("w",), 1)
    assert gradient_request("user:file.py:factory") is None
    assert gradient_request('relax.transform.Gradient("main", VARIABLES)') is None


def loss(body: Any, *params: Any, extra: bool = False) -> Any:
    """A module whose ``main`` is one dataflow block that ends in a scalar."""
    bb = relax.BlockBuilder()
    with bb.function("main", list(params)):
        with bb.dataflow():
            out = bb.emit_output(op.sum(bb.emit(body(bb))))
            other = bb.emit_output(op.exp(params[0])) if extra else None
        bb.emit_func_output(relax.Tuple([other, out]) if extra else out)
    return bb.finalize()


def verdict(module: Any, expression: str = ALL) -> Verdict:
    return judge_numeric(Subject(module, [PassRef("Gradient", expression)], input_seed=3))


def test_right_adjoints_pass() -> None:
    x, w = samples.var("x"), samples.var("w")
    module = loss(lambda bb: op.multiply(bb.emit(op.tanh(x)), w), x, w, extra=True)
    assert verdict(module, SOME).outcome is Outcome.PASS
    x, w = samples.var("x"), samples.var("w", (3, 4))
    assert verdict(loss(lambda bb: op.nn.softmax(bb.emit(op.matmul(x, w))), x, w)).outcome is Outcome.PASS


def test_a_shape_among_the_arguments_is_left_alone() -> None:
    w, shape = samples.var("w"), relax.Var("s", relax.ShapeType([2, 3]))
    seen = verdict(loss(lambda bb: op.tanh(w), w, shape, extra=True), SOME)
    assert seen.outcome is Outcome.PASS, seen


def test_the_operator_is_blamed() -> None:
    x, w = samples.var("x"), samples.var("w")
    module = loss(lambda bb: op.multiply(bb.emit(op.cumsum(bb.emit(op.tanh(x)), 1, exclusive=True)), w), x, w)
    seen = verdict(module)
    assert seen.outcome is Outcome.FAIL
    assert seen.evidence is not None
    assert (seen.culprit, seen.evidence.kind) == ("Gradient", "wrong-gradient")
    assert seen.evidence.message == "gradient differs from differences: relax.cumsum"


def test_a_legalization_that_is_wrong_is_blamed() -> None:
    """e3f4a9a297: windows that leave one column (case legalize-max-pool2d-backward-width-one)."""
    x = samples.var("x", (1, 1, 5, 2))
    module = loss(lambda bb: op.nn.max_pool2d(x, pool_size=(3, 2)), x)
    for later in [], [PassRef("CallTIRRewrite", "relax.transform.CallTIRRewrite()")]:
        seen = judge_numeric(Subject(module, [PassRef("Gradient", ALL), *later], input_seed=3))
        assert seen.evidence is not None
        assert (seen.culprit, seen.evidence.kind) == ("LegalizeOps", "wrong-gradient")


def test_a_narrow_float_is_not_decided() -> None:
    x = samples.var("x", dtype="float16")
    assert verdict(loss(lambda bb: op.tanh(x), x)).reason == "undecidable: no derivative can be measured"


def test_a_narrow_float_in_another_function_decides_nothing() -> None:
    x = samples.var("x")
    module = loss(lambda bb: op.tanh(x), x)
    narrow = relax.Var("n", relax.TensorType((2,), "bfloat16"))
    other = samples.function([narrow], lambda bb: bb.emit(op.tanh(narrow)))["main"]
    module["other"] = other.with_attr("global_symbol", "other")
    assert verdict(module, 'relax.transform.Gradient("main")').outcome is Outcome.PASS


def test_weights_of_a_loss_are_left_open() -> None:
    predictions, weights = samples.var("p", (2, 3)), samples.var("v", (3,))
    targets = relax.const(np.asarray([0, 2]), "int64")
    module = loss(lambda bb: op.nn.nll_loss(predictions, targets, weights, reduction="sum"), predictions, weights)
    after = relax.transform.Gradient("main")(module)
    adapter = adapter_of(ALL, module, after)
    assert adapter == Gradient("main", "main_adjoint", (0, 1), (), (1,))
    # A pass whose text says nothing is taken to differentiate by all parameters.
    assert adapter_of("user:file.py:factory", module, after) == adapter
    assert adapter_of("user:file.py:factory", module, module) is None


def test_an_adjoint_that_computes_something_else_fails() -> None:
    x = samples.var("x")
    module = loss(lambda bb: op.tanh(x), x)

    def spoilt(mod: Any, _context: Any) -> Any:
        after = relax.transform.Gradient("main")(mod)
        other = relax.transform.Gradient("main")(loss(lambda bb: op.sin(x), x))["main_adjoint"]
        after.update_func(after.get_global_var("main_adjoint"), other)
        return after

    from relaxkit.passes.pass_ref import GivenPass

    given = GivenPass("Gradient", ALL, tvm.transform.module_pass(spoilt, opt_level=0))
    seen = judge_numeric(Subject(module, [given], input_seed=3))
    assert seen.evidence is not None
    assert seen.evidence.message == "adjoint returns another result than its function"


def test_a_target_that_is_a_staircase_decides_nothing() -> None:
    """``tanh`` is made of ``exp``: right to a rounding of 1, so that differences of little are 0."""
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    module = loss(lambda bb: op.tanh(bb.emit(op.multiply(relax.const(4.588160606999736e-08, "float32"), x))), x)
    assert verdict(module).outcome is not Outcome.FAIL


def test_nobody_asks_for_the_gradient_of_a_number() -> None:
    """An operator on two numbers gives one; it was an error of the harness."""
    a, b = (relax.Var(name, tvm.ir.PrimType("float32")) for name in "ab")
    builder = relax.BlockBuilder()
    with builder.function("main", [a, b]):
        builder.emit_func_output(builder.emit(relax.op.add(a, b)))
    assert guilty_operator(builder.finalize()["main"], 1) == ""


def test_kernels_of_a_gradient_by_name_are_no_adjoints() -> None:
    x, y = (relax.Var(name, relax.TensorType([2], "float32")) for name in "xy")
    builder = relax.BlockBuilder()
    with builder.function("loss", [x, y]):
        with builder.dataflow():
            made = builder.call_te_with_grad(tvm.topi.multiply, x, y, te_grad_name="product")
            result = builder.emit_output(op.sum(builder.emit(made)))
        builder.emit_func_output(result)
    before = builder.get()
    result = apply(PassRef("Gradient", f'[{_PRODUCT}, relax.transform.Gradient("loss")][1]').build(), before)
    run = Ran(before, result.module, arguments(PassRef("Gradient", 'relax.transform.Gradient("loss")')))
    assert len(run.after.functions) > len(run.before.functions) + 1
    assert said("one adjoint is added, and nothing else changes", run, "Gradient") == ""
