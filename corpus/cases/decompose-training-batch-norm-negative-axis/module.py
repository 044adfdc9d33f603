# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), g: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float32"), m: R.Tensor((3,), "float32"), v: R.Tensor((3,), "float32")):
        with R.dataflow():
            lv = R.nn.batch_norm(x, g, b, m, v, axis=-1)
            gv = lv[0]
            R.output(gv)
        return gv
