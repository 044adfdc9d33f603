# ruff: noqa
# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((5, 3), "float32")):
        with R.dataflow():
            gv = R.strided_slice(x, axes=[0], begin=[3], end=[1], strides=[1])
            R.output(gv)
        return gv
