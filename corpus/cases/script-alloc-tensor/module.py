# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice({"keys": ["cpu"], "kind": "llvm", "mtriple": "x86_64-conda-linux-gnu", "tag": ""}, 0, "global")]})
    @T.prim_func(private=True, s_tir=True)
    def kernel(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for i in range(4):
            with T.sblock("B"):
                v_i = T.axis.spatial(4, i)
                T.reads(A[v_i])
                T.writes(B[v_i])
                B[v_i] = T.exp(A[v_i])

    @R.function
    def main(x: R.Tensor((4,), dtype="float32", vdevice="llvm:0:global")) -> R.Tensor((4,), dtype="float32", vdevice="llvm:0:global"):
        cls = Module
        gv = R.call_tir(cls.kernel, (x,), out_ty=R.Tensor((4,), dtype="float32", vdevice="llvm:0:global"))
        return gv
