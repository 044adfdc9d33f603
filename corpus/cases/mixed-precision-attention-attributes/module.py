# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 2, 2, 2), dtype="float32"), x1: R.Tensor((1, 2, 2, 2), dtype="float32")) -> R.Tensor((1, 2, 2, 2), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 2, 2, 2), dtype="float32") = R.nn.attention(x, x, x1, scale=T.float32(0.125), causal_mask="BottomRight", window_size=None)
            R.output(lv)
        return lv
