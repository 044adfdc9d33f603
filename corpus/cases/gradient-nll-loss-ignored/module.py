# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 4), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            gv = R.nn.nll_loss(x, R.const(np.array([1, 4, 2]), "int64"), R.const(np.array([1, 2, 3, 4], "float32")), ignore_index=4)
            R.output(gv)
        return gv
