# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main_transform_params(params: R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32"))) -> R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32")):
        n = T.int64()
        with R.dataflow():
            lv = R.zeros(R.shape([n]), "float32")
            lv1 = params[0]
            lv2 = R.add(lv, lv1)
            gv = (lv, lv2)
            R.output(gv)
        return gv
