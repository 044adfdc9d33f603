# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor:
        lv: R.Tensor = R.match_cast(x, R.Tensor)
        lv1: R.Tensor = R.cumsum(lv, axis=None, dtype=None, exclusive=False)
        return lv1
