# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2, 2), dtype="bool")) -> R.Tensor((2, 2, 2), dtype="bool"):
        with R.dataflow():
            lv: R.Tensor((2, 2, 2), dtype="bool") = R.layout_transform(x, index_map=T.index_map(lambda i, j, k: (i, j, k)), pad_value=None)
            R.output(lv)
        return lv
