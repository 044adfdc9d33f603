# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})

    @R.function(private=True)
    def helper(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            h = R.hint_on_device(x, R.device(1, 0), "global")
            o = R.exp(h)
            R.output(o)
        return o

    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        cls = Module
        y = cls.helper(x)
        return y
