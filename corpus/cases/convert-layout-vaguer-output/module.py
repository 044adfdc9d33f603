# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor("float32", ndim=2):
        with R.dataflow():
            gv: R.Tensor("float32", ndim=2) = R.abs(x)
            R.output(gv)
        return gv
