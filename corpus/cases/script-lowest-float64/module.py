# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), dtype="float64")) -> R.Tensor((), dtype="float64"):
        gv: R.Tensor((), dtype="float64") = R.max(x, axis=None, keepdims=False)
        return gv
