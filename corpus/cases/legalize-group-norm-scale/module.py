# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((2, 4, 3), dtype="float32"), g: R.Tensor((4,), dtype="float32"), b: R.Tensor((4,), dtype="float32")
    ) -> R.Tensor((2, 4, 3), dtype="float32"):
        gv: R.Tensor((2, 4, 3), dtype="float32") = R.nn.group_norm(
            x, g, b, num_groups=2, channel_axis=1, axes=[2], epsilon=1.0000000000000001e-05, center=True, scale=False
        )
        return gv
