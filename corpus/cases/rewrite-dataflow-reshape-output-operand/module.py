# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0)]})
    @T.prim_func(private=True, s_tir=True)
    def reshape(A: T.Buffer((T.int64(2), T.int64(3)), "float32"), B: T.Buffer((T.int64(6),), "float32")):
        for i in range(T.int64(6)):
            with T.sblock("B"):
                v = T.axis.spatial(T.int64(6), i)
                B[v] = A[v // T.int64(3), v % T.int64(3)]
    @R.function
    def main(x: R.Tensor((2, 3), "float32", "llvm:0")) -> R.Tensor((6,), "float32"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.reshape, (x,), out_ty=R.Tensor((6,), "float32"))
            gv = R.exp(lv)
            R.output(gv)
        return gv
