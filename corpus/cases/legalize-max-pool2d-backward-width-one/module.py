# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(g: R.Tensor((1, 1, 2, 1), dtype="float32")) -> R.Tensor((1, 1, 5, 2), dtype="float32"):
        gv: R.Tensor((1, 1, 5, 2), dtype="float32") = R.grad.max_pool2d_backward(
            g,
            R.const(np.array([[[[0.0, 1.0], [6.0, 5.0], [2.0, 9.0], [7.0, 3.0], [4.0, 8.0]]]], "float32"), "float32"),
            pool_size=[3, 2],
            strides=[2, 1],
            dilation=[1, 1],
            padding=[0, 0, 0, 0],
            ceil_mode=False,
            count_include_pad=False,
            layout="NCHW",
            out_layout="NCHW",
        )
        return gv
