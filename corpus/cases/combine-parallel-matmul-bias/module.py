# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), a: R.Tensor((3, 2), "float32"), b: R.Tensor((3, 2), "float32"), p: R.Tensor((1,), "float32"), q: R.Tensor((1,), "float32")):
        with R.dataflow():
            xa = R.matmul(x, a)
            y = R.add(xa, p)
            xb = R.matmul(x, b)
            z = R.add(xb, q)
            gv = R.add(y, z)
            R.output(gv)
        return gv
