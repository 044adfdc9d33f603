"""Operators that cancel inside of one kernel, taken apart into several, so that their roundings show when results move.

A tolerance is measured by moving what kernels get and give (:mod:`relaxkit.runtime.perturb`).  ``gelu(-4)`` is
``x * (0.5 + 0.5 * erf(x / sqrt(2)))``: what the sum rounds is a hundred times the result in float16, and nothing
outside of the kernel shows it.  The formulas are those of TVM's legalizations
(tvm/relax/transform/legalize_ops/nn.py, tvm/topi/nn/elemwise.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tvm import relax

from relaxkit.ir.functions import relax_items
from relaxkit.ir.summary import summary_of
from relaxkit.ir.walk import operator_of

_WIDE = ("float32", "float64")
_ALPHA, _SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def with_split_operators(module: Any) -> Any:
    """Return the module with calls of such operators, of float32 or float64, as calls of what they are made of.

    The module itself where there are none; raises whatever TVM raises where its types cannot be inferred again.
    """
    if summary_of(module).operators.isdisjoint(_FORMULAS):
        return module
    split = {var: made for var, old in relax_items(module) if not (made := _Splitter().visit_expr(old)).same_as(old)}
    found = module.clone() if split else module
    for var, made in split.items():
        found.update_func(var, made)
    return found


def _gelu(x: Any, number: Callable[[float], Any], _attrs: Any) -> Any:
    op = relax.op
    half = number(0.5)
    return op.multiply(x, op.add(half, op.multiply(op.erf(op.multiply(x, number(math.sqrt(0.5)))), half)))


def _gelu_tanh(x: Any, number: Callable[[float], Any], _attrs: Any) -> Any:
    op = relax.op
    inner = op.add(number(1.0), op.multiply(op.multiply(x, number(0.044715)), x))
    tanh = op.tanh(op.multiply(op.multiply(x, number(math.sqrt(2 / math.pi))), inner))
    return op.multiply(op.multiply(x, number(0.5)), op.add(number(1.0), tanh))


def _tanh(x: Any, number: Callable[[float], Any], _attrs: Any) -> Any:
    """For small ``x`` it is 0 in LLVM: ``(1 - exp(-2 * x)) / (1 + exp(-2 * x))``: that rounds as 1 does.

    Not that formula: an exponential of much would look like a result that float16 cannot hold.
    """
    return relax.op.subtract(relax.op.add(relax.op.tanh(x), number(2.0)), number(2.0))


def _selu(x: Any, number: Callable[[float], Any], _attrs: Any) -> Any:
    op = relax.op
    negative = op.multiply(op.subtract(op.exp(x), number(1.0)), number(_ALPHA))
    both = op.add(op.maximum(x, number(0.0)), op.minimum(negative, number(0.0)))
    return op.multiply(both, number(_SCALE))


def _softplus(x: Any, number: Callable[[float], Any], attrs: Any) -> Any:
    op = relax.op
    beta, threshold = number(float(attrs.beta)), number(float(attrs.threshold))
    scaled = op.multiply(x, beta)
    low = op.divide(op.log(op.add(op.exp(op.minimum(scaled, threshold)), number(1.0))), beta)
    return op.where(op.greater(scaled, threshold), x, low)


_FORMULAS: dict[str, Callable[[Any, Callable[[float], Any], Any], Any]] = {
    "relax.nn.gelu": _gelu,
    "relax.nn.gelu_tanh": _gelu_tanh,
    "relax.nn.selu": _selu,
    "relax.nn.softplus": _softplus,
    "relax.tanh": _tanh,
}


@relax.expr_functor.mutator
class _Splitter(relax.PyExprMutator):
    def visit_call_(self, op: Any) -> Any:
        call = self.visit_expr_post_order(op)
        formula = _FORMULAS.get(operator_of(call))
        if formula is None:
            return call
        x = call.args[0]
        dtype = str(x.ty.dtype) if isinstance(x.ty, relax.TensorType) else ""
        return formula(x, lambda value: relax.const(value, dtype), call.attrs) if dtype in _WIDE else call
