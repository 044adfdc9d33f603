# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 1), dtype="float32")) -> R.Tensor((1, 1), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 1), dtype="float32") = R.zeros_like(x, dtype=None)
            gv: R.Tensor((1, 1), dtype="float32") = R.grad.end_checkpoint(lv)
            R.output(gv)
        return gv
