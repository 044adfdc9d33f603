# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2, 2, 2, 4), dtype="float32"), x1: R.Tensor((1, 2, 1, 2, 4, 4), dtype="float32")) -> R.Tensor((2, 1, 2, 1, 4), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 1, 2, 1, 4), dtype="float32") = R.nn.conv2d(x, x1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW4c", kernel_layout="OIHW4i4o", out_layout="NCHW4c", out_dtype=None)
            R.output(lv)
        return lv
