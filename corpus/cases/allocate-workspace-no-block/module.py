# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function(private=True)
    def f1(x: R.Tensor((2, 2, 2, 2), dtype="float32")) -> R.Tensor((2, 2, 2, 2), dtype="float32"):
        R.func_attr({"Codegen": "pyext", "WorkspaceSize": 64})
        return x

    @R.function
    def main(x: R.Tensor((2, 2, 2, 2), dtype="float32")) -> R.Tensor((2, 2, 2, 2), dtype="float32"):
        cls = Module
        lv: R.Tensor((2, 2, 2, 2), dtype="float32") = cls.f1(x)
        return lv
