# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float64")) -> R.Tensor((2,), "float64"):
        return x
