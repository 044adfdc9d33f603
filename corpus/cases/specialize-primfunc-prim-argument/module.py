# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module(s_tir=True)
class Module:
    @T.prim_func(private=True, s_tir=True)
    def scale(A: T.Buffer((T.int64(2),), "float32"), s: T.int64, B: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            with T.sblock("b"):
                v = T.axis.spatial(T.int64(2), i)
                B[v] = A[v] * T.Cast("float32", s)

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.scale, (x, R.prim_value(T.int64(3))), out_ty=R.Tensor((2,), "float32"))
            R.output(gv)
        return gv
