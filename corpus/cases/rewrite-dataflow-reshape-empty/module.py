# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((0,), dtype="float32"), x1: R.Tensor((2,), dtype="float32")
    ) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((0,), dtype="float32") = R.permute_dims(x, axes=None)
            R.output()
        return x1
