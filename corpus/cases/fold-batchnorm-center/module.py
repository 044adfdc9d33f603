# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 2, 3, 3), "float32")) -> R.Tensor((1, 2, 3, 3), "float32"):
        with R.dataflow():
            lv = R.nn.conv2d(x, R.const(np.ones((2, 2, 1, 1), "float32")))
            lv1 = R.nn.batch_norm(lv, R.const(np.array([2, 3], "float32")), R.const(np.array([4, 5], "float32")), R.const(np.zeros(2, "float32")), R.const(np.ones(2, "float32")), axis=1, center=False, training=False)
            gv = lv1[0]
            R.output(gv)
        return gv
