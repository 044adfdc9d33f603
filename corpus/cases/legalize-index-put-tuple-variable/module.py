# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), i: R.Tensor((2,), "int64"), v: R.Tensor((2,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            lv = (i,)
            gv = R.index_put(x, lv, v)
            R.output(gv)
        return gv
