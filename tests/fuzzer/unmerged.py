"""A module on which MergeCompositeFunctions of TVM 0.27 fails, as people write it."""

UNMERGED = """\
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def other(x: R.Tensor((3,), dtype="float32")) -> R.Tensor((3,), dtype="float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.sin(a)
            R.output(b)
        return b

    @R.function
    def main(x: R.Tensor((3,), dtype="float32")) -> R.Tensor((3,), dtype="float32"):
        y = R.tanh(x)
        return y
"""
