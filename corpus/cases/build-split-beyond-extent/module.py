# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((5, 3), "float32")):
        with R.dataflow():
            a = R.split(x, [2, 9], axis=0)
            gv = a[2]
            R.output(gv)
        return gv
