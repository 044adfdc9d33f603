# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(a: R.Tensor((3, 4), "float32"), b: R.Tensor((4, 8), "float32"), c: R.Tensor((8, 1), "float64")):
        with R.dataflow():
            ab = R.matmul(a, b, out_dtype="float64")
            gv = R.matmul(ab, c)
            R.output(gv)
        return gv
