# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((1, 2, 4, 4), "int8")):
        with R.dataflow():
            gv = R.nn.adaptive_avg_pool2d(x, (2, 2))
            R.output(gv)
        return gv
