# ruff: noqa
# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "int32"), y: R.Tensor((2, 3), "int32")):
        with R.dataflow():
            gv = R.nn.cross_entropy_with_logits(x, y)
            R.output(gv)
        return gv
