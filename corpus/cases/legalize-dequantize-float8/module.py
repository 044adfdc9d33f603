# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        gv: R.Tensor((2,), dtype="float32") = R.dequantize(
            R.const(np.array([1.5, -0.75], "float8_e4m3fn"), "float8_e4m3fn"),
            R.const(1.0, "float32"),
            R.const(0, "int8"),
            out_dtype="float32",
            axis=-1,
        )
        gv1: R.Tensor((2,), dtype="float32") = R.add(gv, x)
        return gv1
