# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1,), dtype="float32")) -> R.Tensor(dtype="int64", ndim=2):
        lv: R.Tensor(dtype="int64", ndim=2) = R.nonzero(x)
        return lv
