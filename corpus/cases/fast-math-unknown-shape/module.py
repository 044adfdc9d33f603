# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((1,), dtype="float32")) -> R.Tensor:
        lv: R.Tensor = R.match_cast(x, R.Tensor)
        lv1: R.Tensor = R.erf(lv)
        return lv1
