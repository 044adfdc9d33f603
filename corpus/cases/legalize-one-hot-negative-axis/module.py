# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "int32")):
        with R.dataflow():
            gv = R.one_hot(x, R.prim_value(T.int64(1)), R.prim_value(T.int64(0)), 3, -2)
            R.output(gv)
        return gv
