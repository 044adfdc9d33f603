# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((4, 3), "int32")):
        with R.dataflow():
            gv = R.scatter_elements(x, R.const(np.array([[0, 2, 1]], "int64")), R.const(np.array([[0, 2, 1]], "int32")), axis=0, reduction="mean")
            R.output(gv)
        return gv
