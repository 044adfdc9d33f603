# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(q: R.Tensor((1, 2, 1, 4), "float16"), k: R.Tensor((1, 2, 1, 4), "float16"), v: R.Tensor((1, 2, 1, 4), "float16")):
        with R.dataflow():
            gv = R.nn.attention(q, k, v, scale=T.FloatImm("float32", 0.5))
            R.output(gv)
        return gv
