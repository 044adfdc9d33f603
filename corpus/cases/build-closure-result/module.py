# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 2), dtype="float32"), x1: R.Tensor((1, 2), dtype="float32")) -> R.Tensor((1, 2), dtype="float32"):
        with R.dataflow():
            # from tvm.script import relax as R
            
            @R.function
            def lv(x2: R.Tensor((1, 2), dtype="float32")) -> R.Tensor((1, 2), dtype="float32"):
                return x1

            lv1: R.Tensor((1, 2), dtype="float32") = lv(x)
            lv2: R.Tensor((1, 2), dtype="float32") = R.abs(lv1)
            R.output(lv, lv1, lv2)
        return lv2
