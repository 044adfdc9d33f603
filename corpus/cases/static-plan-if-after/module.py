# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        if c:
            a = R.exp(x)
            r = R.tanh(a)
        else:
            r = R.sin(x)
        s = R.cos(r)
        t = R.exp(s)
        return t
