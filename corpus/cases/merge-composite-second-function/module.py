# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function(private=True)
    def fused_exp(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        R.func_attr({"Composite": "ext.exp", "Primitive": True})
        with R.dataflow():
            gv = R.exp(x)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        cls = Module
        with R.dataflow():
            gv = cls.fused_exp(x)
            R.output(gv)
        return gv

    @R.function
    def second(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            gv = R.exp(x)
            R.output(gv)
        return gv
