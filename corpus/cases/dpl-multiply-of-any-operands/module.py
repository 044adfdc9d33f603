# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1,), dtype="float32")) -> R.Tensor((1,), dtype="float32"):
        lv: R.Tuple(R.Tensor((1,), dtype="float32"), R.Tensor((1,), dtype="float32")) = R.topk(x, k=1, axis=-1, ret_type="both", largest=True, dtype="float32")
        lv1: R.Tensor((1,), dtype="float32") = lv[0]
        return lv1
