# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32")):
        with R.dataflow():
            gv = R.strided_slice(x, axes=[-1], begin=[1], end=[2])
            R.output(gv)
        return gv
