# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((2, 4, 5, 6), "float32"), w: R.Tensor((4, 4, 2, 3), "float32")):
        with R.dataflow():
            gv = R.nn.conv2d(x, w, padding=(1, 0, 2, 1), strides=(2, 1), kernel_layout="OIWH")
            R.output(gv)
        return gv
