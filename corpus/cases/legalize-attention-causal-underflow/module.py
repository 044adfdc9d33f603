# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 2, 1, 1), "float32")) -> R.Tensor((1, 2, 1, 1), "float32"):
        with R.dataflow():
            q = R.const(np.full((1, 2, 1, 1), 20.0), "float32")
            k = R.const(np.full((1, 2, 1, 1), -20.0), "float32")
            gv = R.nn.attention(q, k, x, causal_mask="TopLeft")
            R.output(gv)
        return gv
