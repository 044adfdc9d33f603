# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor("float32", ndim=1)) -> R.Tuple(R.Tensor("float32", ndim=1), R.Tensor("float32", ndim=1)):
        n = T.int64()
        with R.dataflow():
            lv = R.match_cast(x, R.Tensor((n,), "float32"))
            lv1 = R.zeros(R.shape([n]), "float32")
            gv = R.match_cast(lv, R.Tensor("float32", ndim=1))
            gv1 = R.abs(lv1)
            R.output(gv, gv1)
        return (gv, gv1)
