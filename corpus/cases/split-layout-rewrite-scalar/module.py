# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module(s_tir=True)
class Module:
    @T.prim_func(private=True, s_tir=True)
    def kern(s: T.int64, A: T.Buffer((T.int64(4), T.int64(6)), "float32"), W: T.Buffer((T.int64(6), T.int64(4)), "float32"), C: T.Buffer((T.int64(4), T.int64(6)), "float32")):
        # with T.sblock("root"):
        W_rewrite = T.sblock_alloc_buffer((T.int64(4), T.int64(6)))
        for i, j in T.grid(T.int64(4), T.int64(6)):
            with T.sblock("W_rewrite"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                T.reads(W[v_j, v_i])
                T.writes(W_rewrite[v_i, v_j])
                T.sblock_attr({"meta_schedule.layout_rewrite_preproc": True})
                W_rewrite[v_i, v_j] = W[v_j, v_i]
        for i, j in T.grid(T.int64(4), T.int64(6)):
            with T.sblock("C"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                T.reads(A[v_i, v_j], W_rewrite[v_i, v_j])
                T.writes(C[v_i, v_j])
                C[v_i, v_j] = A[v_i, v_j] + W_rewrite[v_i, v_j] + T.Cast("float32", s)
