# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float8_e5m2")) -> R.Tensor((2,), dtype="float8_e5m2"):
        lv: R.Tensor((2,), dtype="float8_e5m2") = R.layout_transform(x, index_map=T.index_map(lambda i_0: (i_0,)), pad_value=None)
        return lv
