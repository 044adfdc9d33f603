# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice("llvm", 1, "global")]})

    @R.function
    def main(x: R.Tensor((2, 2), "float32", "llvm:0:global")) -> R.Tensor((2, 2), "float32", "llvm:1:global"):
        a = R.sin(x)
        b = R.cos(a)
        h = R.to_vdevice(b, "llvm:1:global")
        c = R.exp(h)
        d = R.tanh(c)
        return d
