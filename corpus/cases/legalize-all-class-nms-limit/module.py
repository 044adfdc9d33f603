# mypy: ignore-errors
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(s: R.Tensor((1, 1, 4), dtype="float32"), k: R.Tensor((), dtype="int64")) -> R.Tuple(
        R.Tensor((4, 3), dtype="int64"), R.Tensor((1,), dtype="int64")
    ):
        gv: R.Tensor((1, 1, 4), dtype="float32") = R.abs(s)
        gv1: R.Tensor((), dtype="int64") = R.minimum(k, R.const(1, "int64"))
        gv2: R.Tuple(R.Tensor((4, 3), dtype="int64"), R.Tensor((1,), dtype="int64")) = (
            R.vision.all_class_non_max_suppression(
                R.const(
                    np.array(
                        [[[0.0, 0.0, 1.0, 1.0], [0.0, 2.0, 1.0, 3.0], [0.0, 4.0, 1.0, 5.0], [0.0, 6.0, 1.0, 7.0]]],
                        "float32",
                    ),
                    "float32",
                ),
                gv,
                gv1,
                R.const(0.5, "float32"),
                R.const(0.0, "float32"),
                output_format="onnx",
            )
        )
        return gv2
