# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def topi_maximum(A: T.Buffer((T.int64(6),), "int64"), B: T.Buffer((T.int64(6),), "int64"), T_maximum: T.Buffer((T.int64(6),), "int64")):
        for i0 in range(T.int64(6)):
            T_maximum[i0] = A[i0]

    @R.function
    def main() -> R.Tensor((6,), dtype="int64"):
        cls = Module
        lv: R.Tensor((6,), dtype="int64") = R.arange(-2, -6, -1, dtype="int64")
        lv1 = R.call_tir(cls.topi_maximum, (lv, lv), out_ty=R.Tensor((6,), dtype="int64"))
        return lv1
