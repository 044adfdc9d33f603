# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2, 2), dtype="float32"), x1: R.Tensor((3,), dtype="int64"), x2: R.Tensor((3,), dtype="int64"), x3: R.Tensor((3,), dtype="int64")) -> R.Tensor(dtype="float32", ndim=3):
        with R.dataflow():
            lv: R.Tensor(dtype="float32", ndim=3) = R.dynamic_strided_slice(x, x2, x1, x3)
            R.output(lv)
        return lv
