# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor(("n", 1), "float32")):
        with R.dataflow():
            gv = R.squeeze(x)
            R.output(gv)
        return gv
