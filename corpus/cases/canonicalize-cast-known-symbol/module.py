# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("m",), "float32"), y: R.Tensor("float32", ndim=1)) -> R.Tensor("float32", ndim=1):
        m = T.int64()
        s = T.int64()
        a = R.match_cast(y, R.Tensor((s,), "float32"))
        b = R.match_cast(a, R.Tensor((m,), "float32"))
        c = R.add(x, b)
        d = R.concat((a, c), axis=0)
        return d
