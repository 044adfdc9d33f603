# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 3), dtype="float32")) -> R.Tensor((3, 3), dtype="int32"):
        gv: R.Tensor((3, 3), dtype="int32") = R.eye_like(x, 0, dtype="int32")
        return gv
