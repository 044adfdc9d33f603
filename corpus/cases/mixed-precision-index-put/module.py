# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(p5: R.Tensor((1,), dtype="float32"), lv5: R.Tensor((2,), dtype="float32"), c: R.Tensor((1,), dtype="int64")) -> R.Tensor((2,), dtype="float32"):
        gv11: R.Tensor((2,), dtype="float32") = R.index_put(lv5, (c,), p5, accumulate=False)
        return gv11
