# ruff: noqa: RET504 -- the samples are TVMScript, not Python

from __future__ import annotations

from typing import Any

import pytest
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxkit.ir.lowered import stored_parameters


@I.ir_module(s_tir=True)
class Honest:
    @T.prim_func(private=True, s_tir=True)
    def double(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                b[v] = T.exp(a[v])

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Honest
        y = R.call_tir(cls.double, (R.const([1.0, 2.0, 3.0, 4.0], "float32"),), out_ty=R.Tensor((4,), "float32"))
        return y


@I.ir_module(s_tir=True)
class Overwriting:
    @T.prim_func(private=True, s_tir=True)
    def double(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                a[v] = T.float32(0.0)
                b[v] = a[v]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Overwriting
        y = R.call_tir(cls.double, (R.const([1.0, 2.0, 3.0, 4.0], "float32"),), out_ty=R.Tensor((4,), "float32"))
        return y


@pytest.mark.parametrize(("module", "stored"), [(Honest, {1}), (Overwriting, {0, 1})])
def test_what_a_kernel_stores_into(module: Any, stored: set[int]) -> None:
    assert stored_parameters(module["double"]) == stored
