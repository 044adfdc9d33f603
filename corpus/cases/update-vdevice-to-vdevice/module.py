# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice("llvm", 1, "global")]})

    @R.function
    def main(x: R.Tensor((2,), "float32", "llvm:1:global")) -> R.Tensor((2,), "float32", "llvm:0:global"):
        with R.dataflow():
            y = R.to_vdevice(x, "llvm:0:global")
            R.output(y)
        return y
