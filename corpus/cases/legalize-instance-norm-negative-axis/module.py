# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((2, 3, 4), "float32"), a: R.Tensor((4,), "float32"), b: R.Tensor((4,), "float32")):
        with R.dataflow():
            gv = R.nn.instance_norm(x, a, b, channel_axis=-1, axes=[1])
            R.output(gv)
        return gv
