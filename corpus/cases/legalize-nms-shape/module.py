# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(b: R.Tensor((1, 4, 4), "float32"), s: R.Tensor((1, 1, 4), "float32")):
        gv = R.vision.all_class_non_max_suppression(b, s, R.const(2, "int64"), R.const(0.5, "float32"), R.const(0.0, "float32"))
        lv = gv[0]
        r = R.collapse_sum_to(lv, R.shape([1, 3]))
        return r
