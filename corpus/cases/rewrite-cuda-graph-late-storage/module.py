# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main() -> R.Tensor((3,), dtype="int64"):
        lv: R.Tensor((3,), dtype="int64") = R.call_pure_packed(
            "relax.run.shape_to_tensor", R.shape([1, 2, 3]), ty_args=(R.Tensor((3,), dtype="int64"),)
        )
        lv1: R.Tensor((3,), dtype="int64") = R.negative(lv)
        gv: R.Tensor((3,), dtype="int64") = R.abs(lv1)
        return gv
