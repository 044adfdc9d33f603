"""Attention, with and without bias."""

from __future__ import annotations

from functools import partial
from typing import Any

from tvm import relax

from strategies.operators import intervals
from strategies.operators.adapt import adapted
from strategies.operators.drawing import FLOATS
from strategies.operators.row import OperatorFamily, Rows
from strategies.scope.bounds import Bounds
from strategies.scope.scope import Scope, Value

ROWS = Rows(OperatorFamily.ATTENTION)

op = relax.op

UNIT = Bounds(-2.0, 2.0)
MASKS = (None, None, "TopLeft", "BottomRight")


def _draw_attention(scope: Scope, with_bias: bool) -> Value:
    # Batch, length, heads, width.
    query = adapted(scope, dtypes=FLOATS, ranks=(4,), where=partial(_moderate, scope))
    query = scope.keep(query, UNIT.lo, UNIT.hi)
    batch, length, heads, width = query.shape
    keys: Any = length if scope.index(4) < 2 else scope.integer(1, 4)
    groups = heads
    if not scope.executable and isinstance(heads, int) and scope.rarely():
        # TVM defect: type inference takes fewer heads of keys, and the kernel reads past their end.
        groups = scope.pick([n for n in range(1, heads + 1) if heads % n == 0])
    key = adapted(scope, dtypes=(query.dtype,), shape=(batch, keys, groups, width), bounds=UNIT, share=32)
    value_width = width if scope.index(2) else scope.integer(1, 4)
    value = adapted(scope, dtypes=(query.dtype,), shape=(batch, keys, groups, value_width), bounds=UNIT, share=32)
    mask = scope.pick(MASKS)
    # TVM defect: with a scale the kernel computes float16 in float32, and leaves it so.
    scaled = not scope.executable or query.dtype != "float16"
    scale = scope.pick((None, None, 0.5, 0.125, 1.0)) if scaled else None
    # No kernel: "Legalization for sliding-window attention is not supported yet".
    window = scope.integer(1, 3) if not scope.executable and scope.rarely() else None
    if not with_bias:
        call = op.nn.attention(query.expr, key.expr, value.expr, None, scale, mask, window)
    else:
        shape = [batch, heads, length, keys]
        for place in range(3):  # all but the keys broadcast
            if scope.index(4) == 3:
                shape[place] = 1
        bias = adapted(scope, dtypes=(query.dtype,), shape=shape, bounds=UNIT)
        call = op.nn.attention_bias(query.expr, key.expr, value.expr, bias.expr, scale, mask, window)
    return scope.emit_rounded(call, value.known, query.dtype)


def _moderate(scope: Scope, value: Value) -> bool:
    return scope.nonempty(value) and scope.most_elements(value.shape) <= 1024


ROWS.row("nn.attention", bounds=intervals.attention)(partial(_draw_attention, with_bias=False))
ROWS.row("nn.attention_bias", bounds=intervals.attention)(partial(_draw_attention, with_bias=True))
