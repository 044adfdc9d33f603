# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def helper(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        R.func_attr({"Codegen": "absent", "WorkspaceSize": 128})
        return x

    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        cls = Module
        with R.dataflow():
            a = R.abs(x)
            R.output(a)
        b: R.Tensor((2, 2), "float32") = R.match_cast(a, R.Tensor((2, 2), "float32"))
        with R.dataflow():
            c = cls.helper(b)
            R.output(c)
        return c
