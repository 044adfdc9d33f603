# mypy: ignore-errors
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function(private=True)
    def f(x: R.Tensor((2,), "float32")) -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
        y = R.abs(x)
        return (x, y)
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tuple(R.Tensor((2,), "float32"), R.Any):
        cls = Module
        t = cls.f(x)
        a = t[0]
        c = R.make_closure(cls.f, (x,))
        return (a, c)
