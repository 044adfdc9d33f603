# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function(pure=False)
    def main() -> R.Tensor("float32", ndim=1):
        t: R.Tensor("float32", ndim=1) = R.builtin.alloc_tensor(R.shape([2]), R.dtype("float32"), R.prim_value(0), R.str("ipc_memory"))
        r: R.Tensor("float32", ndim=1) = R.abs(t)
        return r
