# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((1, 2, 4), "float32")):
        with R.dataflow():
            gv = R.nn.adaptive_avg_pool1d(x, None)
            R.output(gv)
        return gv
