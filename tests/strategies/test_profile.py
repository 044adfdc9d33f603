"""What is read off a module: the one definition of a pair of operators, operands, and parts that are no operators."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from strategies import ir_modules, operators_of
from strategies.detect.profile import UNKNOWN_RANK, profile_of
from strategies.scope.from_bytes import draw_from_bytes


@I.ir_module
class Direct:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor("int64")):
        a = R.exp(x)
        b = R.add(a, a)
        c = R.abs(y)
        return (b, c)


@I.ir_module
class Around:
    """Aliases, casts, tuples built and taken apart, and operators that give tuples."""

    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        a = R.exp(x)
        same = a
        cast = R.match_cast(same, R.Tensor((n, 4), "float32"))
        b = R.sin(cast)
        c = R.cos(x)
        both = (b, (c, x))
        inner = both[1]
        first = inner[0]
        d = R.tanh(first)
        parts = R.split(d, 2, axis=1)
        part = parts[1]
        return R.concat((part, b), axis=1)


@I.ir_module
class Branches:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")):
        outer = R.exp(x)
        if c:
            inside = R.sin(outer)
            r = R.cos(inside)
        else:
            r = R.abs(outer)
        return R.negative(r)


@I.ir_module
class Calls:
    """Nothing is passed through a call of a function."""

    @R.function(private=True)
    def helper(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.exp(x)

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        cls = Calls
        a = R.sin(x)
        b = cls.helper(a)
        return R.cos(b)


@pytest.mark.parametrize(
    ("module", "pairs"),
    [
        (Direct, {("exp", "add")}),
        (Around, {("exp", "sin"), ("cos", "tanh"), ("tanh", "split"), ("split", "concat"), ("sin", "concat")}),
        (Branches, {("exp", "sin"), ("sin", "cos"), ("exp", "abs"), ("cos", "negative"), ("abs", "negative")}),
        (Calls, set()),
    ],
    ids=["direct", "around", "branches", "calls"],
)
def test_the_pairs_of_a_module(module: Any, pairs: set[tuple[str, str]]) -> None:
    assert profile_of(module).pairs == {(f"relax.{first}", f"relax.{second}") for first, second in pairs}


def test_operators_operands_parts_and_bindings() -> None:
    profile = profile_of(Direct)
    assert profile.operators == {"relax.exp": 1, "relax.add": 1, "relax.abs": 1}
    assert profile.operands == {
        ("relax.exp", "float32", 2), ("relax.add", "float32", 2), ("relax.abs", "int64", UNKNOWN_RANK),
    }  # fmt: skip
    around = profile_of(Around)
    assert {name: around.parts[name] for name in ("alias", "cast", "tuple", "take", "function")} == {
        "alias": 1, "cast": 1, "tuple": 1, "take": 3, "function": 1,
    }  # fmt: skip
    assert profile_of(Branches).parts["if"] == 1
    assert (profile_of(Calls).parts["call"], profile_of(Calls).parts["function"]) == (1, 2)
    assert profile_of(Around).bindings == 12


def drawn(count: int) -> list[Any]:
    source = random.Random(3)
    modules = [draw_from_bytes(ir_modules(), source.randbytes(16384)) for _ in range(count)]
    return [module for module in modules if module is not None]


def test_drawn_modules_agree_with_the_operators_that_are_detected() -> None:
    for module in drawn(60):
        profile = profile_of(module)
        assert profile.operators.keys() == operators_of(module)
        assert {name for pair in profile.pairs for name in pair} <= profile.operators.keys()
        assert {name for name, _, _ in profile.operands} <= profile.operators.keys()
        assert profile_of(module, operands=False).counts == profile.counts
