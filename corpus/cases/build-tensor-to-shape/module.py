# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((3,), "int64")) -> R.Shape(ndim=3):
        y = R.tensor_to_shape(x)
        return y
