# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "bfloat16")):
        with R.dataflow():
            gv = R.argmax(x, axis=1)
            R.output(gv)
        return gv
