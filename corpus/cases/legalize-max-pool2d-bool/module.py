# ruff: noqa
# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, 4, 4), "bool")):
        with R.dataflow():
            gv = R.nn.max_pool2d(x, (2, 2))
            R.output(gv)
        return gv
