# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor("float32", ndim=1):
        gv = R.dynamic_strided_slice(x, R.const(np.array([3]), "int64"), R.const(np.array([1]), "int64"), R.const(np.array([1]), "int64"))
        return gv
