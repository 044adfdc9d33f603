# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function(private=True)
    def f(c: R.Tensor((), "bool")) -> R.Tensor((), "bool"):
        cls = Module
        if c:
            r = cls.f(R.const(False, "bool"))
        else:
            r = c
        return r

    @R.function
    def main(c: R.Tensor((), "bool")) -> R.Tensor((), "bool"):
        cls = Module
        r = cls.f(c)
        return r
