# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 2, 2), dtype="float32")) -> R.Tensor((1, 2, 2), dtype="float32"):
        gv: R.Tensor((1, 2, 2), dtype="float32") = R.scatter_elements(
            x,
            R.const(np.array([[[0], [0]]], "int64"), "int64"),
            R.const(np.array([[[10.0], [20.0]]], "float32"), "float32"),
            axis=0,
            reduction="update",
        )
        return gv
