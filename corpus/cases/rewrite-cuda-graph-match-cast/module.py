# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main() -> R.Tensor(dtype="float32", ndim=1):
        b = T.int64()
        lv: R.Tensor((2,), dtype="float32") = R.add(R.const([1.0, 2.0], "float32"), R.const([3.0, 4.0], "float32"))
        lv1: R.Tensor((b,), dtype="float32") = R.match_cast(lv, R.Tensor((b,), dtype="float32"))
        lv2: R.Tensor((b,), dtype="float32") = R.negative(lv1)
        return lv2
