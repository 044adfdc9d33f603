# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((3,), "bool")) -> R.Tensor("int64", ndim=2):
        n = T.int64()
        with R.dataflow():
            lv = R.match_cast(R.nonzero(x), R.Tensor((1, n), "int64"))
            gv = lv
            R.output(gv)
        return gv
