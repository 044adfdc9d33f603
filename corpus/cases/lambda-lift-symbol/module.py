# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n * 2",), "float32")) -> R.Tensor("float32", ndim=1):
        n = T.int64()

        @R.function
        def inner(a: R.Tensor((n * 2,), "float32")) -> R.Tensor((n * 2,), "float32"):
            b = R.exp(a)
            return b

        z = inner(y)
        return z
