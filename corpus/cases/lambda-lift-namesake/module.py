# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main_inner_0(y: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        gv: R.Tensor((2,), dtype="float32") = R.negative(y)
        return gv

    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        
        @R.function
        def inner(a: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
            v: R.Tensor((2,), dtype="float32") = R.negative(a)
            return v

        gv1: R.Tensor((2,), dtype="float32") = inner(x)
        
        @R.function
        def inner_1(a: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
            v: R.Tensor((2,), dtype="float32") = R.abs(a)
            return v

        gv2: R.Tensor((2,), dtype="float32") = inner_1(gv1)
        return gv2
