# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function(private=True)
    def main(x: R.Tensor(dtype="float32", ndim=1)) -> R.Tensor(dtype="float32"):
        with R.dataflow():
            lv: R.Tensor(dtype="float32") = R.squeeze(x, axis=None)
            R.output(lv)
        return lv
