# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float16")):
        with R.dataflow():
            gv = R.quantize(x, R.const(0.5, "float16"), R.const(0, "int8"), 0, "uint16")
            R.output(gv)
        return gv
