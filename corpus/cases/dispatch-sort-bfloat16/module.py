# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((6,), dtype="bfloat16")) -> R.Tensor((6,), dtype="bfloat16"):
        gv: R.Tensor((6,), dtype="bfloat16") = R.sort(x, axis=-1, descending=False)
        return gv
