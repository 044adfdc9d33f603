# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module(s_tir=True)
class Module:
    @T.prim_func(s_tir=True)
    def k(A: T.Buffer((T.int64(2),), "float32"), B: T.Buffer((T.int64(2),), "float32")):
        T.func_attr({"global_symbol": "k"})
        for i in range(T.int64(2)):
            with T.sblock("b"):
                vi = T.axis.spatial(T.int64(2), i)
                B[vi] = A[vi] + T.float32(1)

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.k, (x,), out_ty=R.Tensor((2,), "float32"))
            R.output(gv)
        return gv
