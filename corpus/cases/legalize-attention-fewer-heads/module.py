# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(
        q: R.Tensor((1, 2, 4, 2), dtype="float32"),
        k: R.Tensor((1, 3, 2, 2), dtype="float32"),
        v: R.Tensor((1, 3, 2, 2), dtype="float32"),
    ) -> R.Tensor((1, 2, 4, 2), dtype="float32"):
        gv: R.Tensor((1, 2, 4, 2), dtype="float32") = R.nn.attention(
            q, k, v, scale=None, causal_mask=None, window_size=None
        )
        return gv
