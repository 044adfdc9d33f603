# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2,), dtype="float32") = R.abs(x)
            lv1: R.Tensor((2,), dtype="float32") = R.maximum(lv, x)
            lv2: R.Tensor((2,), dtype="float32") = R.negative(lv1)
            R.output(lv, lv2)
        return lv
