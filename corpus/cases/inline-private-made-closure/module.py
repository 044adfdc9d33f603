# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function(private=True)
    def inner(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return a

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Any:
        cls = Module
        c: R.Any = R.make_closure(cls.inner, ())
        return c
