# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tuple(R.Tensor((1,), dtype="float32"), R.Tensor((1,), dtype="float32"))) -> R.Tuple(R.Tensor((1,), dtype="float32"), R.Tensor((1,), dtype="float32")):
        with R.dataflow():
            lv: R.Tensor((1,), dtype="float32") = x[1]
            lv1: R.Tensor((1,), dtype="float32") = R.nn.relu(lv)
            lv2: R.Tensor((1,), dtype="float32") = R.abs(lv)
            R.output(lv1, lv2)
        return (lv1, lv2)
