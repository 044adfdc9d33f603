# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            lv = R.astype(R.const(1, "int32"), "float32")
            gv = R.add(lv, x)
            R.output(gv)
        return gv
