# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function(private=True)
    def main(x: R.Tensor((1, 2), dtype="float32"), x1: R.Tensor((1, 2), dtype="float32")) -> R.Tensor((1, 2), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 2), dtype="float32") = R.nn.rms_norm(x, x1, axes=[-2, -1], epsilon=0.0625)
            R.output(lv)
        return lv
