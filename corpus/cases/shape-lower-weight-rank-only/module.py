# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), w: R.Tensor(ndim=2, dtype="float32")) -> R.Tensor((2, 3), "float32"):
        R.func_attr({"num_input": 1, "relax.force_pure": True})
        return x
