# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        with R.dataflow():
            lv = R.ones(R.shape([n]), "float32")
            lv1 = R.abs(lv)
            gv = R.add(lv1, x)
            R.output(gv)
        return gv
