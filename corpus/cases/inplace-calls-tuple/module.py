# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 3), dtype="float32") = R.exp(x)
            lv1: R.Tuple(R.Tensor((2, 3), dtype="float32")) = (lv,)
            lv2: R.Tensor((2, 3), dtype="float32") = R.multiply(lv, x)
            lv3: R.Tensor((2, 3), dtype="float32") = lv1[0]
            lv4: R.Tensor((2, 3), dtype="float32") = R.add(lv2, lv3)
            gv: R.Tensor((2, 3), dtype="float32") = lv4
            R.output(gv)
        return gv
