# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function(private=True)
    def main(p2: R.Tensor((2,), dtype="float32"), lv2: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        lv1: R.Tensor((2,), dtype="float32") = R.slice_scatter(lv2, p2, 0, 2, 1, axis=0)
        return lv1
