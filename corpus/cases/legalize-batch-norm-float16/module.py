# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float16"), a: R.Tensor((3,), "float16"), b: R.Tensor((3,), "float16"), c: R.Tensor((3,), "float16"), d: R.Tensor((3,), "float16")):
        with R.dataflow():
            n = R.nn.batch_norm(x, a, b, c, d, axis=1, training=False)
            gv = n[0]
            R.output(gv)
        return gv
