# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8,), dtype="bfloat16")) -> R.Tensor((8,), dtype="int32"):
        gv: R.Tensor((8,), dtype="int32") = R.argsort(x, axis=-1, descending=False, dtype="int32")
        return gv
