# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tuple(
        R.Tensor(dtype="float32", ndim=1), R.Tensor(dtype="int64", ndim=1)
    ):
        gv: R.Tuple(R.Tensor(dtype="float32", ndim=1), R.Tensor(dtype="int64", ndim=1)) = R.unique(
            x, True, False, True, False
        )
        return gv
