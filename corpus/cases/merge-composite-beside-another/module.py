# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function(private=True)
    def fused_exp(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        R.func_attr({"Composite": "ext.exp", "Primitive": True})
        with R.dataflow():
            gv: R.Tensor((2, 3), dtype="float32") = R.exp(x)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        cls = Module
        with R.dataflow():
            gv: R.Tensor((2, 3), dtype="float32") = cls.fused_exp(x)
            R.output(gv)
        return gv
