"""Aim: operators drawn more often, and fragments of a user's in the modules."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tvm import relax

from relaxkit.ir.walk import operators_of
from strategies import Fragment, ir_modules

EXAMPLES = 30


def share_with(operator: str, **aim: Any) -> float:
    found = []

    @settings(
        max_examples=EXAMPLES, database=None, deadline=None, derandomize=True, suppress_health_check=[*HealthCheck]
    )
    @given(ir_modules(**aim))
    def draw(module: Any) -> None:
        found.append(operator in operators_of(module))

    draw()
    return sum(found) / len(found)


def test_an_operator_with_a_weight_is_in_most_modules() -> None:
    assert share_with("relax.split") < 0.2
    assert share_with("relax.split", operators={"relax.split": 12}) > 0.5
    assert share_with("relax.split", operators={"split": 12}) > 0.5


def test_a_planted_function_is_in_most_modules() -> None:
    assert share_with("relax.erf", plant=lambda x: relax.op.erf(x)) > 0.7


def test_a_planted_fragment_has_the_operands_that_it_asks_for() -> None:
    seen = []

    def product(left: Any, right: Any) -> Any:
        seen.append([int(dim) for tensor in (left, right) for dim in tensor.ty.shape.values])
        return relax.op.nn.relu(relax.op.matmul(left, right))

    fragment = Fragment(product, ((2, 3), (3, 4)), "float32")
    assert share_with("relax.matmul", plant=[fragment]) > 0.7
    assert all(each == [2, 3, 3, 4] for each in seen)


def test_an_unknown_operator_is_named_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"no operator 'spilt' is drawn; is relax\.split meant\?"):
        ir_modules(operators={"spilt": 1})
