# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            lv = R.exp(x)
            lv1 = R.abs(lv)
            lv2 = R.abs(lv1)
            gv = R.add(lv, lv2)
            R.output(gv)
        return gv
