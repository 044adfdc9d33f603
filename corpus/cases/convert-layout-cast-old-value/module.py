# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            lv: R.Tensor("float32", ndim=2) = R.abs(x)
            lv1 = R.match_cast(lv, R.Tensor((2, 3), "float32"))
            gv = R.exp(lv1)
            R.output(gv)
        return gv
