# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(w: R.Tensor((2, 0), dtype="float32")) -> R.Tensor((2, 0), dtype="float32"):
        gv: R.Tensor((2, 0), dtype="float32") = R.exp(w)
        return gv
