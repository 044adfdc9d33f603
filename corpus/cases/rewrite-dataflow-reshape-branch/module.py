# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor((3, 2), dtype="float32"):
        if c:
            with R.dataflow():
                d: R.Tensor((3, 2), dtype="float32") = R.reshape(x, R.shape([3, 2]))
                g: R.Tensor((3, 2), dtype="float32") = R.exp(d)
                R.output(g)
            gv: R.Tensor((3, 2), dtype="float32") = g
        else:
            with R.dataflow():
                d: R.Tensor((3, 2), dtype="float32") = R.reshape(x, R.shape([3, 2]))
                g: R.Tensor((3, 2), dtype="float32") = R.exp(d)
                R.output(g)
            gv: R.Tensor((3, 2), dtype="float32") = g
        return gv
