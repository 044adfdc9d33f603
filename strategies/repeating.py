"""Which calls can be bound once more at a place."""

from __future__ import annotations

from typing import Any

from tvm import relax

from strategies.dead_code import is_impure
from strategies.detect_kernels import ALLOCATIONS
from strategies.scope import Scope
from strategies.values import Value


def repeatable(scope: Scope, value: Value) -> Any:
    """The call that a value is bound to, when all that it takes is visible here; else ``None``.

    An allocation counts as pure (its ``FPurity``), but another one is memory that no kernel fills, not the value.
    """
    if value.is_parameter or not isinstance(value.expr, relax.Var):
        return None
    expr = scope.builder.lookup_binding(value.expr)
    if not isinstance(expr, relax.Call) or "inplace" in str(expr.op) or is_impure(expr):
        return None
    if getattr(expr.op, "name", "") in ALLOCATIONS:
        return None
    frame = scope.frame
    visible = {v.expr for v in scope.values if isinstance(v.expr, relax.Var)}
    visible.update(frame.symbol_list, frame.shape_symbols, frame.cast_symbols)
    return expr if all(var in visible for var in relax.analysis.free_vars(expr)) else None
