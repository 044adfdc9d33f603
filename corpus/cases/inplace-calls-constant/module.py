# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            one = R.const(1.0, "float32")
            out = R.add(one, x)
            R.output(out)
        return out
