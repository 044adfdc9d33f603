# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, 2, 2), "float32")):
        with R.dataflow():
            y = R.nn.conv2d(x, R.const(np.array([1, 2], "float32").reshape(2, 1, 1, 1)))
            n = R.nn.batch_norm(
                y,
                R.const(np.array([1, 2], "float32")),
                R.const(np.array([3, 5], "float32")),
                R.const(np.array([0, 0], "float32")),
                R.const(np.array([1, 4], "float32")),
                axis=2,
                training=False,
            )
            gv = n[0]
            R.output(gv)
        return gv
