# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor("float32", ndim=2), y: R.Tensor((2, 3), "float32")) -> R.Tensor((3, 4), "float32"):
        with R.dataflow():
            lv = R.match_cast(x, R.Tensor((2, 3), "float32"))
            lv1 = R.permute_dims(lv)
            lv2 = R.permute_dims(y)
            gv: R.Tensor((3, 4), "float32") = R.concat((lv1, lv2), axis=1)
            R.output(gv)
        return gv
