# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, 4, 4), "float16"), r: R.Tensor((1, 5), "float16")):
        with R.dataflow():
            gv = R.vision.roi_align(x, r, 2, 1.0, 2)
            R.output(gv)
        return gv
