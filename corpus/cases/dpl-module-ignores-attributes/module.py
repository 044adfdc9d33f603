# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2, 2, 1), dtype="float32")) -> R.Tensor((1, 2, 2, 2), dtype="float32"):
        lv: R.Tensor((2, 2, 2, 1), dtype="float32") = R.permute_dims(x, axes=[0, 1, 2, 3])
        lv1: R.Tensor((1, 2, 2, 2), dtype="float32") = R.permute_dims(lv, axes=None)
        return lv1
