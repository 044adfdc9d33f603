# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((3,), "float32"), z: R.Tensor((3,), "float32")):
        with R.dataflow():
            lv = R.matmul(x, y)
            lv1 = R.matmul(x, z)
            gv = (lv, lv1)
            R.output(gv)
        return gv
