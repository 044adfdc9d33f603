# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, 2, 2), dtype="int32")) -> R.Tensor((1, 1, 2, 2), dtype="int32"):
        gv: R.Tensor((1, 1, 2, 2), dtype="int32") = R.maximum(
            x, R.const(np.array([[[[16777217, 16777217], [16777217, 16777217]]]], "int32"), "int32")
        )
        gv1: R.Tensor((1, 1, 2, 2), dtype="int32") = R.image.resize2d(
            gv,
            R.shape([2, 2]),
            roi=[T.float32(0.0), T.float32(0.0), T.float32(0.0), T.float32(0.0)],
            layout="NCHW",
            method="nearest_neighbor",
            coordinate_transformation_mode="half_pixel",
            rounding_method="floor",
            cubic_alpha=-0.75,
            cubic_exclude=0,
            extrapolation_value=0.0,
            out_dtype=None,
        )
        return gv1
