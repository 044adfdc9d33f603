# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2, 1), dtype="float32")) -> R.Tensor((3, 2, 2, 1), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((3, 2, 2, 1), dtype="float32") = R.stack((x, x, x), axis=0)
            R.output(gv)
        return gv
