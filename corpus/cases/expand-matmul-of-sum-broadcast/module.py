# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((3, 3), "float32"), a: R.Tensor((3, 3), "float32"), b: R.Tensor((3,), "float32")):
        with R.dataflow():
            s = R.add(a, b)
            gv = R.matmul(x, s)
            R.output(gv)
        return gv
