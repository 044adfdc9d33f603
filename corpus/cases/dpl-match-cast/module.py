# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=1)) -> R.Tensor((1,), dtype="float32"):
        lv: R.Tensor((1,), dtype="float32") = R.match_cast(x, R.Tensor((1,), dtype="float32"))
        lv1: R.Tensor((1,), dtype="float32") = R.square(lv)
        return lv1
