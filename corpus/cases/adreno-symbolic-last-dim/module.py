# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 2, 2, 2, "n"), "float32")) -> R.Tensor((1, 2, 2, 2, "n"), "float32"):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y
