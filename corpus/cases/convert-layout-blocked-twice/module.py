# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 5, 5), "float32"), w: R.Tensor((4, 4, 3, 3), "float32")) -> R.Tensor(
        (1, 4, 3, 3), "float32"
    ):
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            R.output(y)
        return y
