# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 4, 3, 4), "float32"), grid: R.Tensor((3, 2, 2, 2), "float32")):
        gv = R.image.grid_sample(
            x, grid, method="bicubic", layout="NCHW", padding_mode="reflection", align_corners=False
        )
        return gv
