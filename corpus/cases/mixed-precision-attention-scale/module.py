# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(q: R.Tensor((1, 3, 2, 4), "float32"), k: R.Tensor((1, 3, 2, 4), "float32"), v: R.Tensor((1, 3, 2, 4), "float32")) -> R.Tensor((1, 3, 2, 4), "float32"):
        with R.dataflow():
            out = R.nn.attention(q, k, v, scale=3.0)
            R.output(out)
        return out
