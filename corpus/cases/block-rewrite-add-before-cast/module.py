# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1,), "float32"), s: R.Shape(ndim=1)) -> R.Tensor("float32", ndim=1):
        k = T.int64()
        with R.dataflow():
            y = R.exp(x)
            t = R.match_cast(s, R.Shape([k]))
            z = R.broadcast_to(x, R.shape([k]))
            R.output(y, t, z)
        return z
