# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float16"), w: R.Tensor((3, 4), "float16"), i: R.Tensor((2,), "int64")) -> R.Tensor((2, 2), "float32"):
        with R.dataflow():
            lv = R.take(w, i, axis=1)
            gv = R.matmul(x, lv, out_dtype="float32")
            R.output(gv)
        return gv
