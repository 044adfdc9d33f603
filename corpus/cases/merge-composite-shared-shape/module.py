# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function(private=True)
    def fused_reshape(x: R.Tensor((2, 3), "float32"), s: R.Shape([6])) -> R.Tensor((6,), "float32"):
        R.func_attr({"Composite": "ext.reshape", "Primitive": True})
        with R.dataflow():
            gv = R.reshape(x, R.shape([6]))
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((6,), "float32"):
        cls = Module
        with R.dataflow():
            gv = cls.fused_reshape(x, R.shape([6]))
            R.output(gv)
        return gv

    @R.function
    def second(x: R.Tensor((2, 3), "float32")) -> R.Tensor((6,), "float32"):
        cls = Module
        with R.dataflow():
            gv = cls.fused_reshape(x, R.shape([6]))
            R.output(gv)
        return gv
