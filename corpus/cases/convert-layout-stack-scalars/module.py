# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main() -> R.Tensor((3,), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((3,), dtype="float32") = R.stack((R.const(1.0, "float32"), R.const(1.0, "float32"), R.const(3.0, "float32")), axis=0)
            R.output(lv)
        return lv
