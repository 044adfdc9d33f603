# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def topi_maximum(A: T.Buffer((T.int64(3),), "float32"), B: T.Buffer((T.int64(3),), "float32"), T_maximum: T.Buffer((T.int64(3),), "float32")):
        T.func_attr({"operator_name": "topi_maximum.float32.3", "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(3)):
            with T.sblock("T_maximum"):
                v_ax0 = T.axis.spatial(T.int64(3), ax0)
                T.reads(A[v_ax0], B[v_ax0])
                T.writes(T_maximum[v_ax0])
                T_maximum[v_ax0] = T.max(A[v_ax0], B[v_ax0])

    @R.function
    def main() -> R.Tensor((3,), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv: R.Tensor((3,), dtype="float32") = R.arange(-2, -3, -1, dtype="float32")
            lv1 = R.call_tir(cls.topi_maximum, (lv, lv), out_ty=R.Tensor((3,), dtype="float32"))
            R.output(lv1)
        return lv1
