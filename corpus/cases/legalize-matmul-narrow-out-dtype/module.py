# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((1,), dtype="float16"):
        gv: R.Tensor((2,), dtype="float32") = R.maximum(x, R.const(np.array([100000.0, 2.0], "float32"), "float32"))
        gv1: R.Tensor((1,), dtype="float16") = R.matmul(
            gv, R.const(np.array([[9.999999747378752e-06], [0.5]], "float32"), "float32"), out_dtype="float16"
        )
        return gv1
