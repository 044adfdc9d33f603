# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor(ndim=1):
        with R.dataflow():
            lv: R.Tensor(ndim=1) = R.match_cast(x, R.Tensor(ndim=1))
            lv1: R.Tensor(ndim=1) = R.add(x, lv)
            R.output(lv1)
        return lv1
