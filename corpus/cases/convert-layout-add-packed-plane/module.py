# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 2, 4), "float32"), w: R.Tensor((4, 4, 1, 1), "float32"), s: R.Tensor((1, 1, 2, 4), "float32")) -> R.Tensor((1, 4, 2, 4), "float32"):
        with R.dataflow():
            lv = R.nn.conv2d(x, w)
            gv = R.add(lv, s)
            R.output(gv)
        return gv
