# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function(private=True)
    def make(w: R.Tensor((2, 3), "float32")) -> R.Tuple(R.Tensor((3, 2), "float32"), R.Tensor((2, 3), "float32")):
        y = R.permute_dims(w)
        return (y, w)

    @R.function
    def main_transform_params(params: R.Tuple(R.Tensor((2, 3), "float32"))) -> R.Tuple(
        R.Tensor((3, 2), "float32"), R.Tensor((2, 3), "float32")
    ):
        cls = Module
        w = params[0]
        t = cls.make(w)
        return t
