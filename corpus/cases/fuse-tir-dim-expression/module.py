# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor(("k",), dtype="float32"), x1: R.Tensor(("k * 4",), dtype="float32")
    ) -> R.Tensor(("k * 4",), dtype="float32"):
        k = T.int64()
        with R.dataflow():
            lv: R.Tensor((k * 4,), dtype="float32") = R.abs(x1)
            lv1: R.Tensor((k * 4,), dtype="float32") = R.negative(lv)
            R.output(lv1)
        return lv1
