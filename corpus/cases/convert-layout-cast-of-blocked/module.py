# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2, 2), dtype="float32"), x1: R.Tensor((2, 2, 6, 2), dtype="float32"), x2: R.Tensor((2, 1, 2, 1), dtype="float32")) -> R.Tensor((2, 2, 2), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 2, 2, 2), dtype="float32") = R.nn.conv2d(x1, x2, strides=[2, 1], padding=[0, 0, 0, 0], dilation=[3, 1], groups=2, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv1: R.Tensor((2, 2, 2, 2), dtype="float32") = R.match_cast(lv, R.Tensor((2, 2, 2, 2), dtype="float32"))
            R.output()
        return x
