# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((5,), dtype="float32")) -> R.Tensor((5,), dtype="float32"):
        gv: R.Tensor((5,), dtype="float32") = R.slice_scatter(
            x, R.const(np.array([10.0, 20.0], "float32"), "float32"), -3, -1, 1, axis=0
        )
        return gv
