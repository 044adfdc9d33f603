# ruff: noqa: RET504, SIM108 -- the sample is TVMScript, not Python
"""A module whose private functions call each other, for the tests of several rooms."""

from __future__ import annotations

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Mutual:
    @R.function(private=True)
    def even(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Mutual
        if c:
            r = cls.odd(c, x)
        else:
            r = x
        return r

    @R.function(private=True)
    def odd(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Mutual
        r = cls.even(c, x)
        return r

    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Mutual
        r = cls.even(c, x)
        return r
