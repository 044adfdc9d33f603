# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 1), "float32")) -> R.Tensor((2, 1), "float32"):
        with R.dataflow():
            lv = (x, x)
            lv1 = lv[0]
            lv2 = R.subtract(x, lv1)
            lv3 = R.abs(lv2)
            lv4 = R.ewise_fma(lv1, lv3, lv3)
            R.output(lv3, lv4)
        return lv3
