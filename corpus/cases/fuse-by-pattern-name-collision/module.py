# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function(private=True)
    def f1(x: R.Tensor((1, 2), dtype="float32")) -> R.Tensor((1, 2), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 2), dtype="float32") = R.add(x, x)
            R.output(lv)
        return lv

    @R.function
    def fused_relax_add_pyext() -> R.Callable((R.Tensor((2, 4), dtype="float32"), R.Tensor((2, 4), dtype="float32")), R.Tensor((2, 4), dtype="float32"), True):
        # from tvm.script import relax as R
        
        @R.function
        def lv(x: R.Tensor((2, 4), dtype="float32"), x1: R.Tensor((2, 4), dtype="float32")) -> R.Tensor((2, 4), dtype="float32"):
            R.func_attr({"Composite": "pyext.add"})
            return x1

        return lv
