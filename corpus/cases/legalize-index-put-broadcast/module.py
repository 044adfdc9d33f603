# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        gv: R.Tensor((4,), dtype="float32") = R.index_put(
            x,
            (R.const(np.array([0, 2, 3], "int64"), "int64"),),
            R.const(np.array([7.0], "float32"), "float32"),
            accumulate=False,
        )
        return gv
