# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor(ndim=2, dtype="float32")) -> R.Tensor(ndim=2, dtype="float32"):
        n = T.int64()
        y = R.match_cast(x, R.Tensor((n, 3), "float32"))
        return y
