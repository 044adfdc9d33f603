# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function
        def outer(y: R.Tensor((2,), "float32")) -> R.Callable(
            (R.Tensor((2,), "float32"),), R.Tensor((2,), "float32"), True
        ):
            @R.function
            def inner(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                with R.dataflow():
                    lv = R.maximum(z, y)
                    R.output(lv)
                return lv

            return inner

        made = outer(x)
        gv = made(x)
        return gv
