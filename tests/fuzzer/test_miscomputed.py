"""The rewrite that computes another value is named, not the first that a pass has made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm

from fuzzer.repro.miscomputed import miscomputed

X = np.array([[0.5, 2.0], [-3.0, 1.0]], "float32")
HEAD = '@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2, 2), "float32")):\n'


def module(*lines: str) -> Any:
    return tvm.script.from_source(HEAD + "".join(f"        {line}\n" for line in lines))


def told(before: Any, after: Any) -> list[str]:
    return [*miscomputed(before, after, "main", [X])]


CLIP = "a = R.clip(x, R.prim_value(-1), R.prim_value(1))"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (  # one rewrite of two is right
            ("a = R.add(x, x)", "b = R.nn.relu(a)", "c = R.exp(b)", "return c"),
            ('a = R.multiply(x, R.const(2.0, "float32"))', "b = R.abs(a)", "c = R.exp(b)", "return c"),
            "R.nn.relu(a) into R.abs(a)",
        ),
        (  # the first rewrite is the wrong one, what is behind it takes other values
            (CLIP, "b = R.nn.softmax(a)", "return b"),
            (
                'a = R.maximum(x, R.const(-1.0, "float32"))', "b = R.exp(a)",
                "c = R.sum(b, axis=[-1], keepdims=True)", "d = R.divide(b, c)", "return d",
            ),
            "R.clip(x, -1, 1) into R.maximum(x, -1.0)",
        ),
        (  # what is made in two steps is told as a whole
            (CLIP, "b = R.exp(a)", "return b"),
            (
                'a = R.minimum(x, R.const(1.0, "float32"))', 'b = R.maximum(a, R.const(-2.0, "float32"))',
                "c = R.exp(b)", "return c",
            ),
            "R.clip(x, -1, 1) into R.maximum(R.minimum(x, 1.0), -2.0)",
        ),
        (
            ("a = R.sum(x, axis=[0])", "b = R.sum(x, axis=[1])", "c = R.add(a, b)", "return c"),
            ("a = R.sum(x, axis=[0])", "c = R.add(a, a)", "return c"),
            "R.add(a, R.sum(x, axis=[1])) into R.add(a, a)",
        ),
        (
            ("a = R.sum(x, axis=[0])", "b = R.sum(x, axis=[1])", "c = (a, (b, a))", "return c"),
            ("a = R.sum(x, axis=[0])", "c = (a, (a, a))", "return c"),
            "(R.sum(x, axis=[1]), a) into (a, a)",
        ),
        (
            ("a = R.exp(x)", "b = R.negative(x)", "c = R.permute_dims(a)", "d = R.add(b, c)", "return d"),
            ("b = R.negative(x)", "c = R.exp(x)", "d = R.add(b, c)", "return d"),
            "R.permute_dims(R.exp(x)) into R.exp(x)",
        ),
        (("a = R.nn.relu(x)", "return a"), ("return x",), "R.nn.relu(x) into x"),
        (
            ("a = R.sum(x)", "b = R.subtract(a, a)", "return b"),
            ("a = R.sum(x)", 'return R.const(1.0, "float32")'),
            "R.subtract(R.sum(x), R.sum(x)) into 1.0",
        ),
        (  # swapped: x does not become a
            ("a = R.exp(x)", "b = R.subtract(x, a)", "c = R.negative(b)", "return b"),
            ("a = R.exp(x)", "b = R.subtract(a, x)", "c = b", "return b"),
            "R.subtract(x, a) into R.subtract(a, x)",
        ),
        (  # another attribute and another operand: neither alone is the rewrite
            (
                "a = R.clip(x, R.prim_value(0), R.prim_value(2))", "b = R.clip(a, R.prim_value(1), R.prim_value(2))",
                "return b",
            ),
            ("b = R.clip(x, R.prim_value(0), R.prim_value(1))", "return b"),
            "R.clip(R.clip(x, 0, 2), 1, 2) into R.clip(x, 0, 1)",
        ),
        (  # what the new program does is not defined
            (
                "a = R.clip(x, R.prim_value(0), R.prim_value(1))", "b = R.clip(a, R.prim_value(2), R.prim_value(2))",
                "c = R.exp(b)", "return c",
            ),
            ("b = R.clip(x, R.prim_value(2), R.prim_value(1))", "c = R.exp(b)", "return c"),
            "R.clip(R.clip(x, 0, 1), 2, 2) into R.clip(x, 2, 1)",
        ),
        (  # with the attribute that an operator needs
            ("a = R.expand_dims(x, axis=[0])", "b = R.sum(a, axis=[0])", "return b"),
            ("b = R.negative(x)", "return b"),
            "R.sum(R.expand_dims(x, axis=[0]), axis=[0]) into R.negative(x)",
        ),
        (  # of another shape
            ("a = R.sum(x, axis=[0], keepdims=True)", "b = R.exp(a)", "return b"),
            ("a = R.sum(x, axis=[0])", "b = R.exp(a)", "return b"),
            "R.sum(x, axis=[0], keepdims=True) into R.sum(x, axis=[0])",
        ),
    ],
)  # fmt: skip
def test_the_rewrite_that_changes_the_result_is_told(
    before: tuple[str, ...], after: tuple[str, ...], said: str
) -> None:
    assert told(module(*before), module(*after))[0] == f"wrongly turns {said}"


def test_a_value_that_fits_inside_of_an_expression_by_accident_is_not_told_alone() -> None:
    """Of one element the exclusive sum is 0, and so is its negative; -x is a value that the old program had."""
    head = HEAD.replace("(2, 2)", "(1,)")
    before, after = (
        tvm.script.from_source(head + "".join(f"        {line}\n" for line in (*lines, "return b")))
        for lines in (
            ("a = R.negative(x)", "b = R.cumsum(a, exclusive=True)"),
            ("a = R.cumsum(x)", "b = R.negative(a)"),
        )
    )
    said = next(miscomputed(before, after, "main", [np.ones(1, "float32")]))
    assert said == "wrongly turns R.cumsum(R.negative(x), exclusive=True) into R.negative(R.cumsum(x))"


def test_shorter_texts_leave_out_what_operands_are_computed_from() -> None:
    found = told(module("a = R.abs(x)", "b = R.nn.relu(a)", "return b"), module("b = R.negative(x)", "return b"))
    assert found == [
        "wrongly turns R.nn.relu(R.abs(x)) into R.negative(x)",
        "wrongly turns R.nn.relu(a) into R.negative(x)",
        "wrongly turns R.nn.relu(R.abs(x)) into R.negative",
        "wrongly turns R.nn.relu(a) into R.negative",
        "wrongly turns R.nn.relu into R.negative",
    ]


def test_roundings_are_no_wrong_value() -> None:
    doubled = module('a = R.multiply(x, R.const(2.0002, "float32"))', "return a")
    assert told(module("a = R.add(x, x)", "return a"), doubled) == []


def test_what_is_inside_a_branch_or_a_function_that_is_called_is_told() -> None:
    texts = [
        HEAD.replace("main(x", 'main(c: R.Tensor((), "bool"), x')
        + f"        if c:\n            r = R.{name}(x)\n        else:\n            r = R.abs(x)\n        return r\n"
        for name in ("exp", "negative")
    ]
    before, after = map(tvm.script.from_source, texts)
    assert "wrongly turns R.exp(x) into R.negative(x) inside an If" in miscomputed(
        before, after, "main", [np.array(True), X]
    )
    assert [*miscomputed(before, after, "main", [np.array(False), X])] == [], "the results are right"


def test_what_is_inside_a_function_that_is_called_is_told_of_it() -> None:
    inner = '    @R.function(private=True)\n    def f(y: R.Tensor((2, 2), "float32")):\n        return R.{}(y)\n\n'
    outer = "        a = R.exp(x)\n        b = Module.f(a)\n        c = R.negative(b)\n        return c\n"
    start, main = HEAD.split("    @R", 1)
    before, after = (
        tvm.script.from_source(f"{start}{inner.format(name)}    @R{main}{outer}") for name in ("log", "sqrt")
    )
    assert told(before, after)[0] == "wrongly turns R.log(y) into R.sqrt(y)"
