# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(n: T.int64) -> R.Tensor(dtype="float32", ndim=2):
        with R.dataflow():
            gv: R.Tensor((n, 1), dtype="float32") = R.ones(R.shape([n, 1]), dtype="float32")
            R.output(gv)
        return gv
