# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((3, 0), "float32")):
        with R.dataflow():
            gv = R.bucketize(x, R.const(np.array([0, 1], "float32")))
            R.output(gv)
        return gv
