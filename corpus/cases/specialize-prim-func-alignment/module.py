# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((1,), dtype="float32")) -> R.Tuple(R.Tensor((), dtype="float32"), R.Tensor((), dtype="int64")):
        lv: R.Tuple(R.Tensor((), dtype="float32"), R.Tensor((), dtype="int64")) = R.median(x, axis=[-1], keepdims=False)
        return lv
