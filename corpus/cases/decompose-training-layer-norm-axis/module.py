# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 1), dtype="float32"), x1: R.Tensor((2,), dtype="float32")) -> R.Tensor((2, 1), dtype="float32"):
        lv: R.Tensor((2, 1), dtype="float32") = R.nn.layer_norm(x, x1, x1, axes=[0], epsilon=0.0625, center=False, scale=True)
        return lv
