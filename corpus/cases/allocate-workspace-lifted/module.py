# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def fused_relax_exp_pyext(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        R.func_attr({"Codegen": "pyext", "WorkspaceSize": 64})
        # from tvm.script import relax as R
        
        @R.function
        def local_func(x_1: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
            R.func_attr({"Composite": "pyext.exp", "WorkspaceSize": 64})
            with R.dataflow():
                gv: R.Tensor((2, 3), dtype="float32") = R.exp(x_1)
                R.output(gv)
            return gv

        output: R.Tensor((2, 3), dtype="float32") = local_func(x)
        return output

    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        cls = Module
        with R.dataflow():
            gv: R.Tensor((2, 3), dtype="float32") = cls.fused_relax_exp_pyext(x)
            R.output(gv)
        return gv
