"""LowerClip: ``clip`` as ``maximum`` and ``minimum``, which a backend without ``clip`` has."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

CLIP = tvm.ir.Op.get("relax.clip")
FLOATS = ("float16", "float32", "float64")


@mutator
class _Lower(PyExprMutator):
    def __init__(self, module, number):
        super().__init__(module)
        self.number = number

    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        if call.op != CLIP or str(call.ty.dtype) not in FLOATS:
            return call
        operand, least, most = call.args
        least, most = self.bound(least, call), self.bound(most, call)
        below = self.builder_.emit(relax.op.minimum(operand, most))
        return relax.op.maximum(below, least)

    def bound(self, argument, call):
        """A bound as a constant of the operand's dtype."""
        return relax.const(self.number(getattr(argument, "value", argument)), str(call.ty.dtype))


def _lowered(module, number):
    lower = _Lower(module, number)
    for variable, function in module.functions_items():
        if isinstance(function, relax.Function):
            lower.builder_.update_func(variable, lower.visit_expr(function))
    return lower.builder_.get()


@tvm.transform.module_pass(opt_level=0, name="BuggyLowerClip")
class BuggyLowerClip:
    """The pass as it was first written, and tried on ReLU6, which is ``clip(x, 0, 6)``."""

    def transform_module(self, module, context):
        """Apply it."""
        return _lowered(module, int)


@tvm.transform.module_pass(opt_level=0, name="LowerClip")
class LowerClip:
    """The pass as it is right: bounds may be fractions."""

    def transform_module(self, module, context):
        """Apply it."""
        return _lowered(module, float)
