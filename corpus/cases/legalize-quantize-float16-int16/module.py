# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float16")) -> R.Tensor((2,), dtype="int16"):
        gv: R.Tensor((2,), dtype="float16") = R.maximum(x, R.const(np.array([60000.0, 2.0], "float16"), "float16"))
        gv1: R.Tensor((2,), dtype="int16") = R.quantize(
            gv, R.const(1.0, "float16"), R.const(0, "int8"), out_dtype="int16", axis=-1
        )
        return gv1
