# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2, 2), dtype="float32"), x1: R.Tensor((2, 2), dtype="float32")) -> R.Tensor((2, 2), dtype="float32"):
        # from tvm.script import relax as R
        
        @R.function(pure=False)
        def lv1(x2: R.Tensor((2, 2), dtype="float32")) -> R.Tensor((2, 2), dtype="float32"):
            R.print(x1, format=R.str("note0 {}"))
            return x

        lv2: R.Tensor((2, 2), dtype="float32") = lv1(x1)
        return x1
