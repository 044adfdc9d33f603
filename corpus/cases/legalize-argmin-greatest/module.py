# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), dtype="uint8")) -> R.Tensor((), dtype="int64"):
        gv: R.Tensor((3,), dtype="uint8") = R.maximum(x, R.const(np.array([255, 255, 255], "uint8"), "uint8"))
        gv1: R.Tensor((), dtype="int64") = R.argmin(gv, axis=None, keepdims=False)
        return gv1
