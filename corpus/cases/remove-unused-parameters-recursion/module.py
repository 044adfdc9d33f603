# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module(s_tir=True)
class Module:
    @R.function(private=True)
    def f(c: R.Tensor((), "bool"), x: R.Tensor(("n", "m"), "float32")) -> R.Shape(ndim=1):
        n, m = T.int64(), T.int64()
        cls = Module
        if c:
            y = R.zeros(R.shape([n, m]), "float32")
            r: R.Shape(ndim=1) = cls.f(c, y)
        else:
            r: R.Shape(ndim=1) = R.shape([m])
        return r
