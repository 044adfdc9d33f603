# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float16")):
        with R.dataflow():
            gv = R.atan(x)
            R.output(gv)
        return gv
