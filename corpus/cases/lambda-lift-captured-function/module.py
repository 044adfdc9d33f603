# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function
        def inner(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            b = R.exp(a)
            return b

        @R.function
        def outer(c: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            d = inner(c)
            return d

        z = outer(x)
        return z
