# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def two_stages(A: T.Buffer((T.int64(2), T.int64(3)), "float32"), T_out: T.Buffer((T.int64(2), T.int64(3)), "float32")):
        # with T.sblock("root"):
        T_stage = T.sblock_alloc_buffer((T.int64(2), T.int64(3)))
        for i0, i1 in T.grid(T.int64(2), T.int64(3)):
            with T.sblock("T_stage"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                T.reads(A[v_i0, v_i1])
                T.writes(T_stage[v_i0, v_i1])
                T_stage[v_i0, v_i1] = A[v_i0, v_i1] + T.float32(1.0)
        for i0, i1 in T.grid(T.int64(2), T.int64(3)):
            with T.sblock("T_out"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                T.reads(T_stage[v_i0, v_i1])
                T.writes(T_out[v_i0, v_i1])
                T_out[v_i0, v_i1] = T_stage[v_i0, v_i1] * T.float32(2.0)

    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        cls = Module
        lv = R.call_tir(cls.two_stages, (x,), out_ty=R.Tensor((2, 3), dtype="float32"))
        return lv
