# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, 2, 2), "float16"), g: R.Tensor((1, 2, 2, 2), "float16")):
        with R.dataflow():
            gv = R.image.grid_sample(x, g)
            R.output(gv)
        return gv
