# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float64"), w: R.Tensor((3,), dtype="float64")) -> R.Tensor(
        (2, 3), dtype="float64"
    ):
        gv: R.Tensor((2, 3), dtype="float64") = R.nn.rms_norm(x, w, axes=[-1], epsilon=1.0000000000000001e-05)
        return gv
