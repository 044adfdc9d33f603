# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def fused(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Codegen": "pyext", "WorkspaceSize": 256})

        @R.function
        def first(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            R.func_attr({"Composite": "pyext.exp", "WorkspaceSize": 256})
            b = R.exp(a)
            return b

        @R.function
        def second(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            R.func_attr({"Composite": "pyext.abs"})
            b = R.abs(a)
            return b

        y = first(x)
        z = second(y)
        return z
