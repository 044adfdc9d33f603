# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, 3, 3, 3), dtype="float32")) -> R.Tensor((1, 1, 3, 3, 3), dtype="float32"):
        gv: R.Tensor((1, 1, 3, 3, 3), dtype="float32") = R.image.resize3d(
            x,
            R.shape([3, 3, 3]),
            roi=[T.float32(0.0), T.float32(0.0), T.float32(0.5), T.float32(1.0), T.float32(1.0), T.float32(1.0)],
            layout="NCDHW",
            method="linear",
            coordinate_transformation_mode="tf_crop_and_resize",
            rounding_method="",
            cubic_alpha=-0.75,
            cubic_exclude=0,
            extrapolation_value=0.0,
            out_dtype=None,
        )
        return gv
