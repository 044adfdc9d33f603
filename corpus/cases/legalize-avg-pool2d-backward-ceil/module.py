# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(g: R.Tensor((1, 1, 2, 2), dtype="float32"), x: R.Tensor((1, 1, 4, 4), dtype="float32")) -> R.Tensor(
        (1, 1, 4, 4), dtype="float32"
    ):
        gv: R.Tensor((1, 1, 4, 4), dtype="float32") = R.grad.avg_pool2d_backward(
            g,
            x,
            pool_size=[3, 3],
            strides=[2, 2],
            dilation=[1, 1],
            padding=[0, 0, 0, 0],
            ceil_mode=True,
            count_include_pad=True,
            layout="NCHW",
            out_layout="NCHW",
        )
        return gv
