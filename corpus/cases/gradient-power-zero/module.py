# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            lv = R.multiply(x, R.const(np.array([0, 1], "float32")))
            lv1 = R.power(lv, R.const(np.array([0, 2], "float32")))
            gv = R.sum(lv1)
            R.output(gv)
        return gv
