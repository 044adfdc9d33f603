# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((3, 3), "float32"), w: R.Tensor((3,), "float32"), i: R.Tensor((3,), "int64")):
        with R.dataflow():
            j = R.clip(i, 0, 2)
            wi = R.take(w, j, axis=0)
            gv = R.matmul(x, wi)
            R.output(gv)
        return gv
