# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main() -> R.Callable((R.Tensor((2, 2), dtype="float32"), R.Tensor((2, 2), dtype="float32")), R.Tensor((2, 2), dtype="float32"), True):
        # from tvm.script import relax as R
        
        @R.function
        def lv1(x: R.Tensor((2, 2), dtype="float32"), x1: R.Tensor((2, 2), dtype="float32")) -> R.Tensor((2, 2), dtype="float32"):
            R.func_attr({"Composite": "pyext.add"})
            with R.dataflow():
                lv: R.Tensor((2, 2), dtype="float32") = R.abs(x1)
                R.output(lv)
            return lv

        return lv1
