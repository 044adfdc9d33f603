"""Attention and losses, with the gradients of losses, pools and ``take``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tvm import relax

from strategies.bounds import Bounds
from strategies.operators.drawing import (
    ANY,
    FLOATS,
    WIDE_FLOATS,
    bounds_of,
    emit,
    flip,
    keep,
    nonempty,
    shape_of,
)
from strategies.operators.nn_pool import windows
from strategies.operators.row import Family, OperatorRow

if TYPE_CHECKING:
    from strategies.scope import Scope, Value

op = relax.op

UNIT = Bounds(-2.0, 2.0)


def _draw_attention(with_bias: bool) -> Callable[[Scope], Value | None]:
    def draw(scope: Scope) -> Value | None:
        # Batch, length, heads, width.
        # The kernel scales in float32 and leaves float16 behind: only where nothing runs.
        dtypes = WIDE_FLOATS if scope.executable else FLOATS
        query = scope.tensor(dtypes=dtypes, ranks=(4,), static=True, where=nonempty(scope))
        query = keep(scope, query, UNIT.lo, UNIT.hi)
        batch, length, heads, width = shape_of(query)
        # Causal masks are defined for as many keys as queries, so draw no other count then.
        mask = scope.pick((None, None, "TopLeft", "BottomRight"))
        keys = length if mask else scope.integer(1, 4)
        key = scope.tensor(dtypes=(query.dtype,), shape=(batch, keys, heads, width), bounds=UNIT)
        value = scope.tensor(dtypes=(query.dtype,), shape=(batch, keys, heads, scope.integer(1, 4)), bounds=UNIT)
        scale = scope.pick((None, None, 0.5))
        if not with_bias:
            call = op.nn.attention(query.expr, key.expr, value.expr, None, scale, mask)
        else:
            shape = (batch, heads, length, keys)
            bias = scope.tensor(dtypes=(query.dtype,), shape=shape, bounds=UNIT)
            call = op.nn.attention_bias(query.expr, key.expr, value.expr, bias.expr, scale, mask)
        return emit(scope, call, bounds_of(value), query.dtype)

    return draw


def draw_cross_entropy(scope: Scope) -> Value | None:
    """``cross_entropy_with_logits`` of a vector or a batch of them: a scalar."""
    logits = scope.tensor(dtypes=FLOATS, ranks=(1, 2), where=nonempty(scope))
    logits = keep(scope, logits, UNIT.lo, UNIT.hi)
    labels = scope.tensor_like(logits, bounds=UNIT)
    size = 4.0 * scope.most_elements(shape_of(logits))
    return emit(scope, op.nn.cross_entropy_with_logits(logits.expr, labels.expr), Bounds(-size, size), logits.dtype)


def _loss_operands(scope: Scope) -> tuple[Value, Value, Value, tuple[Any, ...]]:
    predictions = scope.tensor(dtypes=FLOATS, ranks=(2, 3), where=nonempty(scope))
    predictions = keep(scope, predictions, UNIT.lo, UNIT.hi)
    dims = shape_of(predictions)
    targets_shape = (dims[0], *dims[2:])
    classes = max(scope.dim_range(dims[1])[0], 1)
    targets = scope.tensor(dtypes=("int64", "int32"), shape=targets_shape, bounds=Bounds(0, classes - 1, True))
    # Positive weights: their sum divides the mean.
    weights = scope.tensor(dtypes=(predictions.dtype,), shape=(dims[1],), bounds=Bounds(0.5, 2.0))
    return predictions, targets, weights, targets_shape


def draw_nll_loss(scope: Scope) -> Value | None:
    """``nll_loss`` with or without weights, by mean, sum or none. No class is ignored: the mean of none is NaN."""
    predictions, targets, weights, shape = _loss_operands(scope)
    reduction = scope.pick(("mean", "sum", "none"))
    weighted = None if flip(scope) else weights.expr
    call = op.nn.nll_loss(predictions.expr, targets.expr, weighted, reduction)
    size = 4.0 * (scope.most_elements(shape) if reduction == "sum" else 2)
    return emit(scope, call, Bounds(-size, size), predictions.dtype)


def draw_nll_loss_backward(scope: Scope) -> Value | None:
    """``grad.nll_loss_backward``: the gradient has the shape of the predictions."""
    predictions, targets, weights, shape = _loss_operands(scope)
    reduction = scope.pick(("mean", "sum", "none"))
    grad_shape = shape if reduction == "none" else ()
    grad = scope.tensor(dtypes=(predictions.dtype,), shape=grad_shape, bounds=UNIT)
    call = op.grad.nll_loss_backward(grad.expr, predictions.expr, targets.expr, weights.expr, reduction)
    return emit(scope, call, Bounds(-16.0, 16.0), predictions.dtype)


def _draw_pool_backward(call: Callable[..., Any]) -> Callable[[Scope], Value | None]:
    def draw(scope: Scope) -> Value | None:
        # The maximum of a window that holds ties has no one gradient, but every build picks the same one.
        data = scope.tensor(
            dtypes=WIDE_FLOATS, ranks=(4,), static=True, where=lambda v: 0 not in shape_of(v) and max(shape_of(v)) <= 8
        )
        pool, strides, padding, _ = windows(scope, "NCHW", data, dilated=False)
        batch, channels, *extents = shape_of(data)
        out = [
            (int(extent) + padding[place] + padding[place + 2] - pool[place]) // strides[place] + 1
            for place, extent in enumerate(extents)
        ]
        grad = scope.tensor(dtypes=(data.dtype,), shape=(batch, channels, *out), bounds=UNIT)
        built = call(grad.expr, data.expr, pool, strides, padding)
        size = 2.0 * pool[0] * pool[1]
        return emit(scope, built, Bounds(-size, size), data.dtype)

    return draw


def draw_take_backward(scope: Scope) -> Value | None:
    """``grad.take_backward`` with a vector of indices along an axis."""
    data = scope.tensor(dtypes=WIDE_FLOATS, ranks=(1, 2, 3), static=True, where=nonempty(scope))
    where, count = scope.index(data.rank), scope.integer(1, 4)
    dims = list(shape_of(data))
    indices = scope.tensor(dtypes=("int64", "int32"), shape=(count,), bounds=Bounds(0, dims[where] - 1, True))
    dims[where] = count
    grad = scope.tensor(dtypes=(data.dtype,), shape=dims, bounds=UNIT)
    call = op.grad.take_backward(grad.expr, data.expr, indices.expr, where)
    return emit(scope, call, Bounds(-2.0 * count, 2.0 * count), data.dtype)


def _draw_identity(call: Callable[[Any], Any]) -> Callable[[Scope], Value | None]:
    def draw(scope: Scope) -> Value | None:
        operand = scope.tensor(dtypes=ANY)
        if not isinstance(operand.expr, relax.Var):  # a checkpoint takes no constant
            operand = scope.emit(op.permute_dims(operand.expr, list(range(operand.rank))), bounds_of(operand))
        return scope.emit(call(operand.expr), bounds_of(operand))

    return draw


ROWS = (
    OperatorRow("relax.nn.attention", Family.ATTENTION, _draw_attention(False)),
    OperatorRow("relax.nn.attention_bias", Family.ATTENTION, _draw_attention(True)),
    OperatorRow("relax.nn.cross_entropy_with_logits", Family.LOSS, draw_cross_entropy),
    OperatorRow("relax.nn.nll_loss", Family.LOSS, draw_nll_loss),
    OperatorRow("relax.grad.nll_loss_backward", Family.GRADIENT, draw_nll_loss_backward),
    OperatorRow("relax.grad.max_pool2d_backward", Family.GRADIENT, _draw_pool_backward(op.grad.max_pool2d_backward)),
    OperatorRow("relax.grad.avg_pool2d_backward", Family.GRADIENT, _draw_pool_backward(op.grad.avg_pool2d_backward)),
    OperatorRow("relax.grad.take_backward", Family.GRADIENT, draw_take_backward),
    OperatorRow("relax.grad.no_grad", Family.GRADIENT, _draw_identity(op.grad.no_grad)),
    OperatorRow("relax.grad.start_checkpoint", Family.GRADIENT, _draw_identity(op.grad.start_checkpoint)),
    OperatorRow("relax.grad.end_checkpoint", Family.GRADIENT, _draw_identity(op.grad.end_checkpoint)),
)
