# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        @R.function(pure=False)
        def prints() -> R.Tensor((2,), dtype="float32"):
            R.print(x, format=R.str("x {}"))
            return x

        y: R.Tensor((2,), dtype="float32") = prints()
        return y
