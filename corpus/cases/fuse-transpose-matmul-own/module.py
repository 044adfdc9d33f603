# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            xt = R.permute_dims(x, axes=[1, 0])
            gv = R.matmul(x, xt)
            R.output(gv)
        return gv
