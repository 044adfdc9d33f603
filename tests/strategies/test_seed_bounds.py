"""What is argued of code that was not drawn, and what is not."""

from __future__ import annotations

import numpy as np
import pytest
import seed_modules
import tvm

from oracles.measure.inputs import materialize
from relaxkit.runtime import ExecMode, session
from strategies.operators.intervals import Unproven
from strategies.seeds.bounds import RULES, bounds_of, unproven


def function(parameters: str, *lines: str) -> str:
    body = "\n        ".join(lines)
    return f"@I.ir_module\nclass M:\n    @R.function\n    def main({parameters}):\n        {body}\n        return y\n"


def test_every_rule_is_of_an_operator() -> None:
    names = set(tvm.ir.Op.list_op_names())
    assert not [name for name in RULES if f"relax.{name}" not in names]


def test_sums_and_products_add_up() -> None:
    found = bounds_of(seed_modules.parsed(seed_modules.CHAIN), "main").bounds
    assert found is not None
    # matmul: three products of [-2, 2]; relu of it plus itself: [-12, 24], wider by the rounding of each step
    assert -14 < found.lo <= -12
    assert 24 <= found.hi < 26


def test_private_callees_and_symbolic_dims_are_followed() -> None:
    found = bounds_of(seed_modules.parsed(seed_modules.SYMBOLIC), "main").bounds
    assert found is not None
    assert found.lo >= -1.1
    assert found.hi <= 1.1


def test_branches_are_joined_part_by_part() -> None:
    found = bounds_of(seed_modules.parsed(seed_modules.BRANCHES), "main")
    result, given = (part.bounds for part in found.parts)
    assert result is not None
    assert given is not None
    assert result.lo <= -4
    assert result.hi >= np.exp(4.0)
    assert (given.lo, given.hi) == (-2, 2)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (seed_modules.INDEXED, "indices that may be out of range"),
        (seed_modules.KERNEL, "operator call_tir"),
        (function('x: R.Tensor((4,), "float32"), z: R.Tensor((4,), "float32")', "y = R.divide(x, z)"), "zero"),
        (function('x: R.Tensor((4,), "float32")', "y = R.log(x)"), "outside of its domain"),
        (function('x: R.Tensor((4,), "float32")', "y = R.sqrt(x)"), "outside of its domain"),
        (function('x: R.Tensor((4,), "float32")', "a = R.exp(x)", "b = R.exp(a)", "y = R.exp(b)"), "domain"),
        (
            function('x: R.Tensor((4,), "int8")', "a = R.multiply(x, x)", "b = R.multiply(a, a)", "y = R.add(b, b)"),
            "range",
        ),
        (function('x: R.Tensor((0,), "float32")', "y = R.max(x)"), "empty"),
        (function('x: R.Tensor((4,), "bfloat16")', "y = R.abs(x)"), "unusual dtype"),
        (function('x: R.Tensor(ndim=1, dtype="float32")', "y = R.abs(x)"), "unknown shape"),
        (
            function('x: R.Tensor((4, 4), "float32")', 'y = R.match_cast(x, R.Tensor((4, 4), "float32"))'),
            "match_cast",
        ),
        (
            function(
                'x: R.Tensor(("a", "b"), "float32"), w: R.Tensor(("c", "d"), "float32")',
                "a, b, c, d = T.int64(), T.int64(), T.int64(), T.int64()",
                'y: R.Tensor((a, d), "float32") = R.matmul(x, w)',
            ),
            "differ",
        ),
    ],
)
def test_what_cannot_be_argued_is_named(text: str, reason: str) -> None:
    assert reason in unproven(seed_modules.parsed(text))
    with pytest.raises(Unproven):
        bounds_of(seed_modules.parsed(text), "main")


def test_guarded_operands_can_be_argued() -> None:
    text = function(
        'x: R.Tensor((4,), "float32"), i: R.Tensor((2,), "int64")',
        "a = R.abs(x)",
        'b = R.add(a, R.const(1, "float32"))',
        "c = R.divide(x, b)",
        "d = R.log(b)",
        "e = R.add(c, d)",
        "j = R.clip(i, 0, 3)",
        "y = R.take(e, j, axis=0)",
    )
    assert unproven(seed_modules.parsed(text)) == ""


LOCAL = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 1, 1, 2), "float32")) -> R.Tensor((2, 1, 1, 2), "float32"):
        half = R.const(0.5, "float32")

        @R.function
        def inner(y: R.Tensor((2, 1, 1, 2), "float32")) -> R.Tensor((2, 1, 1, 2), "float32"):
            return R.multiply(y, half)

        a = inner(x)
        b = R.nn.attention_bias(a, x, a, R.const([[[[0.5]]]], "float32"), causal_mask="TopLeft")
        return b
"""


def test_an_attention_of_what_may_be_nothing_is_not_argued() -> None:
    assert "nothing" in unproven(seed_modules.parsed(LOCAL.replace("TopLeft", "BottomRight")))


def test_a_function_that_is_passed_on_is_not_followed() -> None:
    text = LOCAL.replace("a = inner(x)", "f = inner\n        a = f(x)")
    assert "free variable" in unproven(seed_modules.parsed(text))


@pytest.mark.parametrize("text", [seed_modules.CHAIN, seed_modules.SYMBOLIC, seed_modules.BRANCHES, LOCAL])
def test_results_lie_in_their_bounds(text: str) -> None:
    module = seed_modules.parsed(text)
    found = bounds_of(module, "main")
    expected = [part.bounds for part in found.parts] or [found.bounds]
    program = session().build(module, ExecMode.BYTECODE)
    for seed in range(20):
        result = program.call("main", materialize(module, "main", seed))
        results = result if isinstance(result, tuple) else (result,)
        for array, bounds in zip(results, expected, strict=True):
            assert bounds is not None
            assert bounds.lo <= array.min()
            assert array.max() <= bounds.hi
