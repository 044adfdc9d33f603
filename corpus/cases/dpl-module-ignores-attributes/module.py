# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 1), dtype="float32")) -> R.Tensor((), dtype="float32"):
        lv: R.Tensor((), dtype="float32") = R.max(x, axis=None, keepdims=False)
        lv1: R.Tensor((), dtype="float32") = R.permute_dims(lv, axes=[])
        return lv1
