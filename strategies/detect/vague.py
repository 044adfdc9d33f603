"""Types that say less than TVM infers, read from the IR."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax
from tvm.ir import Op

from relaxkit.ir.functions import is_composite, relax_functions
from relaxkit.ir.walk import expressions
from strategies.scope.features import Feature
from strategies.scope.vague import says_less


def vague_features(module: tvm.IRModule) -> frozenset[Feature]:
    """Return ``VAGUE_TYPES`` for a call bound to a variable whose type says less than is inferred, and
    ``VAGUE_OPERANDS`` for an operator that takes what a cast has made less known."""
    found: set[Feature] = set()
    for _, function in relax_functions(module):
        if not is_composite(function):
            _function(function, found)
    return frozenset(found)


def _function(function: Any, found: set[Feature]) -> None:
    forgotten: set[Any] = set()
    for expr in expressions(function.body):
        if not isinstance(expr, relax.SeqExpr):
            continue
        for binding in (each for block in expr.blocks for each in block.bindings):
            value = binding.value
            if isinstance(binding, relax.MatchCast):
                if says_less(binding.var.ty, value.ty):
                    forgotten.add(binding.var)
            elif isinstance(value, relax.Call):
                if says_less(binding.var.ty, value.ty):
                    found.add(Feature.VAGUE_TYPES)
                if isinstance(value.op, Op) and any(
                    arg in forgotten for arg in value.args if isinstance(arg, relax.Var)
                ):
                    found.add(Feature.VAGUE_OPERANDS)
