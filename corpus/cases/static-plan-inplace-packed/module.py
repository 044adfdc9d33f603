# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        gv: R.Tensor((4,), dtype="float32") = R.exp(x)
        gv1: R.Tensor((4,), dtype="float32") = R.call_inplace_packed("vm.builtin.copy", gv, inplace_indices=[0], ty_args=(R.Tensor((4,), dtype="float32"),))
        gv2: R.Tensor((4,), dtype="float32") = R.tanh(x)
        gv3: R.Tensor((4,), dtype="float32") = R.sin(gv2)
        gv4: R.Tensor((4,), dtype="float32") = R.add(gv1, gv3)
        return gv4
