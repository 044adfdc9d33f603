# ruff: noqa: F841, RET504, SIM108 -- the samples are TVMScript, not Python
from __future__ import annotations

import pytest
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from strategies import Feature
from strategies.detect.shapes import shape_features


@I.ir_module(s_tir=True)
class Plain:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        if c:
            z = R.abs(y)
        else:
            z = y
        return z


@I.ir_module(s_tir=True)
class Nested:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((2, 3), "float32"):
        if c:
            if c:
                a = R.abs(x)
            else:
                a = x
            z = a
        else:
            z = x
        return z


@I.ir_module(s_tir=True)
class Blocks:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        z = R.abs(y)
        with R.dataflow():
            a = R.sin(z)
            b = R.cos(a)
            R.output(a, b)
        return b


@I.ir_module(s_tir=True)
class Casts:
    @R.function
    def main(x: R.Tensor("float32", ndim=1)) -> R.Tensor("float32", ndim=1):
        n = T.int64()
        y = R.match_cast(x, R.Tensor((n,), "float32"))
        z = R.full(R.shape([n]), R.const(1, "float32"), "float32")
        return z


@I.ir_module(s_tir=True)
class CastAlone:
    @R.function
    def main(x: R.Tensor("float32", ndim=1)) -> R.Tensor("float32", ndim=1):
        n = T.int64()
        y = R.match_cast(x, R.Tensor((n,), "float32"))
        return x


@I.ir_module(s_tir=True)
class Shapes:
    @R.function
    def main(s: R.Shape(["n"])) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        z = R.full(R.shape([n]), R.const(1, "float32"), "float32")
        return z


@I.ir_module(s_tir=True)
class Counted:
    @R.function
    def main(x: R.Tensor((4,), "int64")) -> R.Tensor("int64", ndim=1):
        y = R.unique(x)
        return y


@I.ir_module(s_tir=True)
class UnusedParameter:
    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((3,), "float32")) -> R.Tensor((2,), "float32"):
        z = R.exp(x)
        return z


@I.ir_module(s_tir=True)
class UsedBySymbol:
    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        z = R.full(R.shape([n]), R.const(1, "float32"), "float32")
        a = R.sum(x)
        b = R.add(z, a)
        return b


@I.ir_module(s_tir=True)
class UnusedField:
    @R.function(private=True)
    def helper(t: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((3,), "float32"))) -> R.Tensor((2,), "float32"):
        y = t[0]
        return y

    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((3,), "float32")) -> R.Tensor((2,), "float32"):
        cls = UnusedField
        z = cls.helper((x, y))
        return z


@I.ir_module(s_tir=True)
class UnusedOutput:
    @R.function(private=True)
    def helper(x: R.Tensor((2,), "float32")) -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
        y = R.exp(x)
        return (x, y)

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = UnusedOutput
        t = cls.helper(x)
        z = t[1]
        return z


@I.ir_module(s_tir=True)
class Devices:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("llvm", 1)]})

    @R.function
    def main(x: R.Tensor((2,), "float32", "llvm:0")) -> R.Tensor((2,), "float32", "llvm:1"):
        y = R.to_vdevice(x, "llvm:1")
        return y


@pytest.mark.parametrize(
    ("module", "features"),
    [
        (Plain, set()),
        (Nested, {Feature.NESTED_IF}),
        (Blocks, {Feature.SEVERAL_BLOCKS, Feature.UNUSED_OUTPUTS}),
        (Casts, {Feature.CAST_SYMBOLS}),
        (CastAlone, set()),
        (Shapes, {Feature.SHAPE_SYMBOLS}),
        (Counted, {Feature.DATA_DEPENDENT}),
        (UnusedParameter, {Feature.UNUSED_PARAMETERS}),
        (UsedBySymbol, set()),
        (UnusedField, {Feature.UNUSED_PARAMETERS}),
        (UnusedOutput, {Feature.UNUSED_OUTPUTS}),
        (Devices, {Feature.SEVERAL_VDEVICES}),
    ],
    ids=lambda value: value.__name__ if hasattr(value, "__name__") else "",
)
def test_features_are_read_from_the_ir(module, features):
    relax.analysis.well_formed(module)
    assert shape_features(module) == features
