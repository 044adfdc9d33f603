# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 1), dtype="float32")) -> R.Tensor((1,), dtype="float32"):
        lv: R.Tensor((1,), dtype="float32") = R.take(x, R.const(1, "int64"), axis=1, mode="fast")
        return lv
