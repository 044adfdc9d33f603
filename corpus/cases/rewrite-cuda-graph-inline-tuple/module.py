# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((1,), dtype="float32"):
        gv: R.Tensor((1,), dtype="float32") = R.index_tensor(x, (R.const([1], "int64"), R.const([2], "int64")))
        return gv
