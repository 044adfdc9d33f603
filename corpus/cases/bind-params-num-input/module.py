# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def run(p2: R.Tensor((2,), dtype="float32"), p3: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        R.func_attr({"num_input": 2})
        return p3
