# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, "n", "n"), "float32")):
        with R.dataflow():
            gv = R.image.resize2d(x, (4, 4), roi=(0.25, 0.0, 0.75, 1.0), coordinate_transformation_mode="tf_crop_and_resize")
            R.output(gv)
        return gv
