# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((2, 3, 3), dtype="float32"),
        g: R.Tensor((3, 3), dtype="float32"),
        b: R.Tensor((3, 3), dtype="float32"),
    ) -> R.Tensor((2, 3, 3), dtype="float32"):
        gv: R.Tensor((2, 3, 3), dtype="float32") = R.nn.layer_norm(
            x, g, b, axes=[2, 1], epsilon=1.0000000000000001e-05, center=True, scale=True
        )
        return gv
