# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 2, 3), dtype="float64")) -> R.Tensor((1, 2, 3, 3), dtype="float64"):
        gv: R.Tensor((1, 2, 3, 3), dtype="float64") = R.image.affine_grid(x, R.shape([3, 3]), align_corners=True)
        return gv
