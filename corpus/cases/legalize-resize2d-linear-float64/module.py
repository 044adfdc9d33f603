# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, 3, 3), dtype="float64")) -> R.Tensor((1, 1, 5, 5), dtype="float64"):
        gv: R.Tensor((1, 1, 5, 5), dtype="float64") = R.image.resize2d(
            x,
            R.shape([5, 5]),
            roi=[T.float32(0.0), T.float32(0.0), T.float32(0.0), T.float32(0.0)],
            layout="NCHW",
            method="linear",
            coordinate_transformation_mode="half_pixel",
            rounding_method="round",
            cubic_alpha=-0.75,
            cubic_exclude=0,
            extrapolation_value=0.0,
            out_dtype=None,
        )
        return gv
