# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice({"keys": ["cpu"], "kind": "llvm", "mtriple": "x86_64-conda-linux-gnu", "tag": ""}, 0, "global"), I.vdevice({"keys": ["cpu"], "kind": "llvm", "mtriple": "x86_64-conda-linux-gnu", "tag": ""}, 1, "global")]})
    @R.function
    def main(x: R.Tensor((2, 2), dtype="float32", vdevice="llvm:0:global")) -> R.Tensor((2, 2), dtype="float32", vdevice="llvm:1:global"):
        a: R.Tensor((2, 2), dtype="float32", vdevice="llvm:0:global") = R.sin(x)
        b: R.Tensor((2, 2), dtype="float32", vdevice="llvm:0:global") = R.cos(a)
        h: R.Tensor((2, 2), dtype="float32", vdevice="llvm:1:global") = R.to_vdevice(b, dst_vdevice="llvm:1:global")
        c: R.Tensor((2, 2), dtype="float32", vdevice="llvm:1:global") = R.exp(h)
        d: R.Tensor((2, 2), dtype="float32", vdevice="llvm:1:global") = R.tanh(c)
        return d
