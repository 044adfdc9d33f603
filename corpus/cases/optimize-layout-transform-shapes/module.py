# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")):
        with R.dataflow():
            a = R.layout_transform(x, index_map=lambda i, j: (j, i))
            gv = R.layout_transform(a, index_map=lambda i, j: (i, j))
            R.output(gv)
        return gv
