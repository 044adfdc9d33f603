# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, 4, 4), "int32")):
        with R.dataflow():
            gv = R.nn.avg_pool2d(x, (2, 2))
            R.output(gv)
        return gv
