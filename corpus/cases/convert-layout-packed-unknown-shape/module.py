# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor("float32", ndim=4), w: R.Tensor((4, 4, 1, 1), "float32")) -> R.Tensor("float32", ndim=4):
        with R.dataflow():
            gv = R.nn.conv2d(x, w)
            R.output(gv)
        return gv
