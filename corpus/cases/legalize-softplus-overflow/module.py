# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float16")) -> R.Tensor((2,), dtype="float16"):
        gv: R.Tensor((2,), dtype="float16") = R.maximum(x, R.const(np.array([12.0, 15.0], "float16"), "float16"))
        gv1: R.Tensor((2,), dtype="float16") = R.nn.softplus(gv, beta=1.0, threshold=20.0)
        return gv1
