# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def two_stages(A: T.Buffer((T.int64(2), T.int64(3)), "float32"), T_out: T.Buffer((T.int64(2), T.int64(3)), "float32")):
        T_stage = T.sblock_alloc_buffer((T.int64(2), T.int64(3)))
        for i0, i1 in T.grid(T.int64(2), T.int64(3)):
            with T.sblock("T_stage"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                T_stage[v_i0, v_i1] = A[v_i0, v_i1] + T.float32(1.0)
        for i0, i1 in T.grid(T.int64(2), T.int64(3)):
            with T.sblock("T_out"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                T_out[v_i0, v_i1] = T_stage[v_i0, v_i1] * T.float32(2.0)

    @T.prim_func(private=True, s_tir=True)
    def double(A: T.Buffer((T.int64(2), T.int64(3)), "float32"), B: T.Buffer((T.int64(2), T.int64(3)), "float32")):
        for i0, i1 in T.grid(T.int64(2), T.int64(3)):
            with T.sblock("B"):
                v0, v1 = T.axis.remap("SS", [i0, i1])
                B[v0, v1] = A[v0, v1] * T.float32(2.0)

    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        cls = Module
        lv: R.Tensor(ndim=2, dtype="float32") = R.call_tir(cls.two_stages, (x,), out_ty=R.Tensor((2, 3), dtype="float32"))
        lv1 = R.call_tir(cls.double, (lv,), out_ty=R.Tensor((2, 3), dtype="float32"))
        return lv1
