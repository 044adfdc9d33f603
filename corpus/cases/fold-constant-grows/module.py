# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function(private=True)
    def main(x: R.Shape([2])) -> R.Tensor(dtype="float32", ndim=1):
        with R.dataflow():
            lv: R.Tensor(x, dtype="float32") = R.full(x, R.const(1.0, "float32"), dtype="float32")
            R.output(lv)
        return lv
