# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((), dtype="float32")) -> R.Tensor((), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((), dtype="float32") = R.add(R.const(1.0, "float32"), R.const(2.0, "float32"))
            gv: R.Tensor((), dtype="float32") = R.multiply(x, lv)
            R.output(gv)
        return gv
