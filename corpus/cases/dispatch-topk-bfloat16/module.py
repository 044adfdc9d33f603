# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8,), dtype="bfloat16")) -> R.Tensor((2,), dtype="bfloat16"):
        gv: R.Tensor((2,), dtype="bfloat16") = R.topk(x, k=2, axis=-1, ret_type="values", largest=True, dtype="int32")
        return gv
