# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, 2, 2), "float32"), w: R.Tensor((1, 1, 1, 1), "float32")) -> R.Tensor((), "float64"):
        with R.dataflow():
            lv = R.nn.conv2d(x, w, out_dtype="float64")
            gv = R.sum(lv)
            R.output(gv)
        return gv
