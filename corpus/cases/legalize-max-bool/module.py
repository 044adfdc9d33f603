# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function(private=True)
    def main(x: R.Tensor((2,), dtype="bool")) -> R.Tensor((), dtype="bool"):
        lv: R.Tensor((), dtype="bool") = R.max(x, axis=None, keepdims=False)
        return lv
