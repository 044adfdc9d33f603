# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((4, 3), "float32")) -> R.Tuple(
        R.Tensor((2, 4), "float32"), R.Tensor((3, 4), "float32")
    ):
        with R.dataflow():
            wt = R.permute_dims(w)
            y = R.matmul(x, wt)
            R.output(wt, y)
        return (y, wt)
