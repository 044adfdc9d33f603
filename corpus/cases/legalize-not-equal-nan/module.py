# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="bool"):
        gv: R.Tensor((4,), dtype="bool") = R.not_equal(
            x, R.const(np.array([np.nan, np.nan, np.nan, np.nan], "float32"), "float32")
        )
        return gv
