# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2, 2), "float32"), y: R.Tensor((2, 2, 2), "float32")) -> R.Tensor((2, 2, 2), "float32"):
        with R.dataflow():
            lv = R.permute_dims(y)
            gv = R.matmul(x, lv)
            R.output(gv)
        return gv
