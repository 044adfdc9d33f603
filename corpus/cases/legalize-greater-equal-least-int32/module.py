# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), dtype="int32")) -> R.Tensor((4,), dtype="bool"):
        gv: R.Tensor((4,), dtype="int32") = R.minimum(
            x, R.const(np.array([-2147483648, -2147483648, -2147483648, -2147483648], "int32"), "int32")
        )
        gv1: R.Tensor((4,), dtype="bool") = R.greater_equal(R.const(-2147483648, "int32"), gv)
        return gv1
