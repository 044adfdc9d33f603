# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((2, 4, 6, 5), "float32"), w: R.Tensor((4, 4, 3, 2), "float32")):
        with R.dataflow():
            gv = R.nn.conv2d(x, w, strides=(2, 1), data_layout="NCWH")
            R.output(gv)
        return gv
