# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(p0: R.Tensor(dtype="float32", ndim=2), p1: R.Tensor((2, 2, 2, 1), dtype="float32")) -> R.Tensor((2, 2, 2, 1), dtype="float32"):
        return p1
