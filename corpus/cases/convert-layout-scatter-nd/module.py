# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 2, 2, 2), "float32"), w: R.Tensor((2, 2, 1, 1), "float32"), u: R.Tensor((1, 2, 2, 2), "float32")) -> R.Tensor((1, 2, 2, 2), "float32"):
        with R.dataflow():
            lv = R.nn.conv2d(x, w)
            gv = R.scatter_nd(lv, R.const(np.array([[[0, 1], [0, 0]]]), "int64"), u)
            R.output(gv)
        return gv
