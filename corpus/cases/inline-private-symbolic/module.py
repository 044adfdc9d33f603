# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module(s_tir=True)
class Module:
    @R.function(private=True)
    def helper(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        n = T.int64()
        y = R.full(R.shape([n, 3]), R.const(1.0, "float32"), dtype="float32")
        z = R.add(x, y)
        return z

    @R.function
    def main(x: R.Tensor(("m", 3), "float32")) -> R.Tensor(("m", 3), "float32"):
        cls = Module
        y = cls.helper(x)
        return y
