# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32"), i: R.Tensor((2,), "int32")) -> R.Tensor((2,), "float32"):
        gv = R.gather_elements(x, i)
        return gv
