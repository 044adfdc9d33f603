# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(p4: R.Tensor((1, 2, 2, 1), dtype="float32"), w0: R.Tensor((2, 2), dtype="float32")) -> R.Tensor((1, 2, 2, 1), dtype="float32"):
        with R.dataflow():
            lv10: R.Tensor((2, 2), dtype="float32") = R.abs(w0)
            R.output()
        return p4
