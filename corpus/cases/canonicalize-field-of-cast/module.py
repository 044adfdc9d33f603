# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor("float32", ndim=1)) -> R.Tensor((3,), "float32"):
        lv = (x, x)
        lv1 = R.match_cast(lv, R.Tuple(R.Tensor((3,), "float32"), R.Tensor((3,), "float32")))
        lv2 = lv1[0]
        gv = R.abs(lv2)
        return gv
