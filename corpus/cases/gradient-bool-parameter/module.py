# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def step(x: R.Tensor((), dtype="bool"), x1: R.Tensor((), dtype="int32")) -> R.Tensor((), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2,), dtype="bool") = R.broadcast_to(x, R.shape([2]))
            lv1: R.Tensor((2,), dtype="float32") = R.astype(lv, dtype="float32")
            lv2: R.Tensor((), dtype="float32") = R.nn.nll_loss(lv1, x1, reduction="sum", ignore_index=1)
            R.output(lv, lv1, lv2)
        return lv2
