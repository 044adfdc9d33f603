"""The beginning of a lowered module as TVMScript, for the tests of what lowering passes claim."""

from __future__ import annotations

HEADER = """# from tvm.script import ir as I
# from tvm.script import relax as R
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def step(A: T.handle, B: T.handle):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Module
"""
