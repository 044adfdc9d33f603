# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            lv: R.Tensor("float32") = R.abs(x)
            gv = R.exp(lv)
            R.output(gv)
        return gv
