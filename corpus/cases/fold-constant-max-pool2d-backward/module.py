# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main() -> R.Tensor((2, 1, 3, 2), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 1, 3, 2), dtype="float32") = R.grad.max_pool2d_backward(R.const([[[[1.0]]], [[[2.0]]]], "float32"), R.const([[[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]], [[[6.0, 7.0], [8.0, 9.0], [10.0, 11.0]]]], "float32"), pool_size=[3, 2], strides=[3, 1], dilation=[1, 1], padding=[0, 0, 0, 0], ceil_mode=False, count_include_pad=False, layout="NCHW", out_layout="NCHW")
            R.output(lv)
        return lv
