# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, 2, 2), "float32"), grid: R.Tensor((1, 2, 1, 1), "float32")):
        gv = R.image.grid_sample(
            x, grid, method="nearest", layout="NCHW", padding_mode="zeros", align_corners=False
        )
        return gv
