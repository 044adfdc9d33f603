# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1,), dtype="float16")) -> R.Tensor((1,), dtype="float16"):
        gv: R.Tensor((1,), dtype="float16") = R.maximum(x, R.const(np.array([64992.0], "float16"), "float16"))
        gv1: R.Tensor((1,), dtype="float16") = R.floor_mod(gv, R.const(np.array([-10000.0], "float16"), "float16"))
        return gv1
