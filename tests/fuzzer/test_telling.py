"""What a failure seems to hang on, told of a minimized module."""

from __future__ import annotations

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

from fuzzer.repro.telling import surroundings, telling


def module(body: str, params: str = "x: R.Tensor((2,), 'float32')", rest: str = "") -> tvm.IRModule:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    text = f"@I.ir_module\nclass Module:\n{rest}    @R.function\n    def main({params}):\n{lines}"
    return tvm.script.from_source(text, {"I": I, "R": R, "tvm": tvm})


FLOWING = (
    "    @R.function\n    def helper(x: R.Tensor((2,), 'float32')):\n        with R.dataflow():\n"
    "            lv = R.exp(x)\n            R.output(lv)\n        return lv\n"
)
AGAIN = (
    "    @R.function(private=True)\n    def again(x: R.Tensor((2,), 'float32')) -> R.Tensor((2,), 'float32'):\n"
    "        return Module.again(x)\n"
)
IN_IF = "if c:\n    lv = {first}\nelse:\n    lv = x\nreturn lv"
CONDITION = "c: R.Tensor((), 'bool'), x: R.Tensor((2,), 'float32')"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (module("return x"), ""),
        (module("lv = R.abs(x)\nreturn lv"), ""),
        (module("lv = R.exp(x)\nlv1 = R.tanh(lv)\nreturn lv1"), "on relax.exp, relax.tanh"),
        (module("lv = R.exp(x)\nlv1 = R.tanh(lv)\nlv2 = R.sin(lv1)\nreturn lv2"), ""),
        (module("lv = R.abs(x)\nreturn x"), "on an unused binding"),
        (module("return x", "x: R.Tensor(('n',), 'float32')"), "on symbolic shapes"),
        (module("return x", "x: R.Tensor(dtype='float32', ndim=1)"), "on unknown shapes"),
        (module("return x", "x: R.Tuple(R.Tensor((2,), 'float32'))"), "on tuples"),
        (module("\n".join([*(f"lv{number} = R.abs(x)" for number in range(12)), "return x"])), ""),
        (tvm.IRModule({}), "on a PrimFunc"),
        (module("return Module.again(x)", rest=AGAIN), "on a recursive function"),
        (module("lv: R.Tensor = R.exp(x)\nreturn lv"), "when a variable has a less specific type than its value"),
        (module("lv = R.exp(x)\nreturn lv", "x: R.Tensor(dtype='float32', ndim=1)"), "on relax.exp of unknown shape"),
        (module("lv = R.exp(x)\nreturn lv", "x: R.Tensor((2,))"), "on relax.exp of unknown dtype"),
    ],
)
def test_what_is_special_of_a_module(given: tvm.IRModule, said: str) -> None:
    assert telling(given) == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (module("return x"), ""),
        (module(IN_IF.format(first="R.exp(x)"), CONDITION), "inside an If"),
        (module(IN_IF.format(first="x"), CONDITION), "when a function has an If"),
        (module("return x", rest=FLOWING), "when a function other than main has a dataflow block"),
        (module("with R.dataflow():\n    lv = R.exp(x)\n    R.output(lv)\nreturn lv", rest=FLOWING), ""),
    ],
)
def test_where_a_failure_is(given: tvm.IRModule, said: str) -> None:
    assert surroundings(given) == said
