# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor("float32", ndim=1), y: R.Tensor((1,), "float32")) -> R.Tensor("float32", ndim=1):
        k = T.int64()
        with R.dataflow():
            lv = R.match_cast(x, R.Tensor((k,), "float32"))
            gv = R.broadcast_to(y, R.shape([k]))
            R.output(gv)
        return gv
