"""What a failure seems to hang on, told of a minimized module."""

from __future__ import annotations

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from fuzzer.repro.telling import namesakes, surroundings, telling


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


LOCAL = "@R.function\ndef f(y: R.Tensor((2,), 'float32')) -> R.Tensor((2,), 'float32'):\n    return y\nreturn x"
SHAPED = "x: R.Tensor((2,), 'float32'), s: R.Shape([2])"
POOL = "lv = R.nn.max_pool2d(x, layout='NHWC')\nreturn lv"
WITH = (
    "    @R.function(private=True)\n    def f1(x: R.Tensor((2,), 'float32')) -> R.Tensor((2,), 'float32'):\n"
    "        R.func_attr({'WorkspaceSize': 8})\n        return x\n"
)
INSIDE = "with T.sblock('root'):\n    with T.sblock('b'):\n        A[()] = B[()]"
OUTSIDE = f"{INSIDE}\n    A[()] = T.float32(0)"


def kernels(body: str, how: str = "") -> tvm.IRModule:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    given = f"A: T.Buffer((), 'float32'{how}), B: T.Buffer((), 'float32')"
    text = f"@I.ir_module\nclass Module:\n    @T.prim_func(s_tir=True)\n    def kernel({given}):\n{lines}"
    return tvm.script.from_source(text, {"I": I, "T": T, "tvm": tvm})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (module("return x"), ""),
        (module("lv = R.abs(x)\nreturn lv"), ""),
        (module("lv = R.exp(x)\nlv1 = R.tanh(x)\nreturn lv1"), "on relax.exp, relax.tanh"),
        (module("lv = R.exp(x)\nlv1 = R.tanh(lv)\nreturn lv1"), "on relax.tanh of the result of relax.exp"),
        (module("lv = R.exp(x)\nlv1 = R.tanh(lv)\nlv2 = R.sin(lv1)\nreturn lv2"), ""),
        (module("lv = R.abs(x)\nreturn x"), "on an unused binding"),
        (module("return x", "x: R.Tensor(('n',), 'float32')"), "on symbolic shapes"),
        (module("return x", "x: R.Tensor(dtype='float32', ndim=1)"), "on unknown shapes"),
        (module("return x", "x: R.Tuple(R.Tensor((2,), 'float32'))"), ""),
        (module("lv = R.add(x, x)\nreturn lv", "x: R.Tensor((2,))"), "on an operand of unknown dtype"),
        (module("lv = R.exp(x)\nreturn lv", "x: R.Tensor(ndim=1)"), "on relax.exp of unknown shape and dtype"),
        (module(LOCAL), "on a local function"),
        (module("lv = R.reshape(x, s)\nreturn lv", SHAPED), "on relax.reshape, whose shape is a parameter"),
        (module("lv = R.zeros(R.shape([2]), 'float32')\nreturn lv"), "on relax.zeros, which has no tensor operand"),
        (module(POOL, "x: R.Tensor((1, 4, 4, 1), 'float32')"), "on relax.nn.max_pool2d with layout=NHWC"),
        (module("lv = Module.f1(x)\nreturn lv", rest=WITH), "on a call to a function with WorkspaceSize"),
        (kernels("A[()] = B[()]"), "when a PrimFunc has no root block"),
        (kernels("with T.sblock('root'):\n    A[()] = B[()]"), "when a PrimFunc has no block inside of its root block"),
        (kernels(OUTSIDE), "when a PrimFunc has a statement outside of its blocks"),
        (kernels(INSIDE), "on a PrimFunc"),
        (kernels(INSIDE, ", align=8"), "when a PrimFunc has a buffer of alignment 8"),
        (module("\n".join([*(f"lv{number} = R.abs(x)" for number in range(12)), "return x"])), ""),
        (tvm.IRModule({}), ""),
        (module("return Module.again(x)", rest=AGAIN), "on a recursive function"),
        (module(f"{LOCAL[:-8]}lv = Module.again(x)\nreturn lv", rest=AGAIN), "on a recursive function"),
        (module("lv: R.Tensor((2,)) = R.exp(x)\nreturn lv"), "when a variable has no dtype"),
        (module("lv: R.Tensor('float32', ndim=1) = R.exp(x)\nreturn lv"), "when a variable has no shape"),
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
        (module(IN_IF.format(first="x"), CONDITION), "in a function with an If"),
        (module("return x", rest=FLOWING), "when a function other than main has a dataflow block"),
        (module("with R.dataflow():\n    lv = R.exp(x)\n    R.output(lv)\nreturn lv", rest=FLOWING), ""),
    ],
)
def test_where_a_failure_is(given: tvm.IRModule, said: str) -> None:
    assert surroundings(given) == said


def test_equal_names_of_dims_of_two_functions_are_told_apart() -> None:
    dims = "    @R.function(private=True)\n    def f1(x: R.Tensor(('n',), 'float32')):\n        return x\n"
    two = module("return x", "x: R.Tensor(('n',), 'float32')", dims)
    ty = 'R.Tensor((n,), dtype="float32")'
    assert namesakes(f"{ty} differs from {ty}", two) == " (the n of f1 and the n of main are different variables)"
    assert namesakes(f"{ty} is wrong", two) == ""
    assert namesakes(f"{ty} differs from {ty}", module("return x", "x: R.Tensor(('n',), 'float32')")) == ""
