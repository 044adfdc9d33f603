# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        @R.function
        def inner(y: R.Tensor((2, 3), "float32"), n: R.Tensor((), "bool")) -> R.Tensor((2, 3), "float32"):
            if n:
                r: R.Tensor((2, 3), "float32") = inner(y, R.const(False))
            else:
                r = R.exp(y)
            return r

        z = inner(x, R.const(True))
        w = R.nn.relu(z)
        return w
