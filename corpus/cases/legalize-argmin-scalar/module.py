# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function(private=True)
    def main(x: R.Tensor((), dtype="float32")) -> R.Tensor((), dtype="int64"):
        with R.dataflow():
            lv: R.Tensor((), dtype="int64") = R.argmin(x, axis=None, keepdims=False)
            R.output(lv)
        return lv
