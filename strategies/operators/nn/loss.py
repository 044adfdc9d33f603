"""Losses, with the gradients of losses, pools and ``take``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tvm import relax

from strategies.operators.adapt import adapted
from strategies.operators.drawing import ANY, FLOATS, SIGNED, WIDE_FLOATS
from strategies.operators.nn.pool import windows
from strategies.operators.row import OperatorFamily, Rows
from strategies.operators.vision.spatial import extent_of, sizes_of, spatial_tensor
from strategies.scope.bounds import Bounds
from strategies.scope.scope import Scope, Value

ROWS = Rows(OperatorFamily.GRADIENT)

op = relax.op

UNIT = Bounds(-2.0, 2.0)
REDUCTIONS = ("mean", "sum", "none")
TARGETS = ("int64", "int32", "int8", "uint8")
NOBODY = -100
"""The class that a loss ignores when none is named."""


@ROWS.row("nn.cross_entropy_with_logits", OperatorFamily.LOSS)
def draw_cross_entropy(scope: Scope) -> Value | None:
    """Draw ``cross_entropy_with_logits`` of a vector or a batch of them: a scalar."""
    logits = adapted(scope, dtypes=FLOATS, ranks=(2, 1, 3, 4), where=scope.nonempty)
    logits = scope.keep(logits, UNIT.lo, UNIT.hi)
    labels = adapted(scope, dtypes=(logits.dtype,), shape=logits.dims, bounds=UNIT)
    size = 4.0 * scope.most_elements(logits.shape)
    if size > 8192.0:
        return None
    return scope.emit_rounded(
        op.nn.cross_entropy_with_logits(logits.expr, labels.expr), Bounds(-size, size), logits.dtype
    )


class _LossOperands:
    """Operands of ``nll_loss`` and of its gradient."""

    def __init__(self, scope: Scope) -> None:
        filled = scope.nonempty
        predictions = adapted(
            scope, dtypes=FLOATS, ranks=(2, 3, 1, 4), where=lambda v: filled(v) and scope.most_elements(v.shape) <= 1024
        )
        self.predictions = scope.keep(predictions, UNIT.lo, UNIT.hi)
        dims = predictions.shape
        self.shape: tuple[Any, ...] = () if len(dims) == 1 else (dims[0], *dims[2:])
        count = dims[0] if len(dims) == 1 else dims[1]
        least = scope.dim_range(count)[0]
        self.targets = adapted(scope, dtypes=TARGETS, shape=self.shape, bounds=Bounds(0, min(least, 100) - 1, True))
        self.reduction = scope.pick(REDUCTIONS)
        self.weights: Value | None = None
        if scope.flip():
            # Positive weights: their sum divides the mean.
            bounds = Bounds(0.5, 2.0)
            self.weights = adapted(scope, dtypes=(predictions.dtype,), shape=(count,), bounds=bounds, share=24)
        # The mean over no element, when all are of the ignored class, is NaN.
        self.ignored = NOBODY
        if self.reduction != "mean" and scope.index(3) == 2:
            self.ignored = scope.index(least)


@ROWS.row("nn.nll_loss", OperatorFamily.LOSS)
def draw_nll_loss(scope: Scope) -> Value | None:
    """Draw ``nll_loss`` with or without weights, by mean, sum or none, with and without an ignored class."""
    loss = _LossOperands(scope)
    weights = None if loss.weights is None else loss.weights.expr
    call = op.nn.nll_loss(loss.predictions.expr, loss.targets.expr, weights, loss.reduction, loss.ignored)
    size = 4.0 * (scope.most_elements(loss.shape) if loss.reduction == "sum" else 2)
    return scope.emit_rounded(call, Bounds(-size, size), loss.predictions.dtype)


@ROWS.row("grad.nll_loss_backward")
def draw_nll_loss_backward(scope: Scope) -> Value | None:
    """Draw ``grad.nll_loss_backward``: the gradient has the shape of the predictions."""
    loss = _LossOperands(scope)
    weights = None if loss.weights is None else loss.weights.expr
    dtype = loss.predictions.dtype
    grad = adapted(scope, dtypes=(dtype,), shape=loss.shape if loss.reduction == "none" else (), bounds=UNIT)
    call = op.grad.nll_loss_backward(
        grad.expr, loss.predictions.expr, loss.targets.expr, weights, loss.reduction, loss.ignored
    )
    return scope.emit_rounded(call, Bounds(-16.0, 16.0), dtype)


def _draw_identity(scope: Scope, call: Callable[[Any], Any]) -> Value:
    operand = adapted(scope, dtypes=ANY)
    if not isinstance(operand.expr, relax.Var):  # a checkpoint takes no constant
        operand = scope.emit(op.permute_dims(operand.expr, list(range(operand.rank))), operand.known)
    return scope.emit(call(operand.expr), operand.known)


def _draw_pool_backward(scope: Scope, kind: str) -> Value:
    # The maximum of a window that holds ties has no one gradient, but every build picks the same one.
    layout = "NHWC" if scope.index(4) == 3 else "NCHW"
    data = spatial_tensor(scope, layout, FLOATS, "HW")
    sizes = sizes_of(layout, data)
    # "Dilation is not supported in TOPI pool_grad and is not legalized."
    drawn = windows(scope, sizes, dilated=not scope.executable)
    for place, letter in enumerate("HW"):
        sizes[letter] = extent_of(
            int(sizes[letter]), drawn.size[place], drawn.strides[place], drawn.dilation[place],
            drawn.padding[place], drawn.padding[place + 2], drawn.ceil,
        )  # fmt: skip
    grad = adapted(scope, dtypes=(data.dtype,), shape=[sizes[letter] for letter in layout], bounds=UNIT)
    include = kind == "avg" and scope.flip()
    built = getattr(op.grad, f"{kind}_pool2d_backward")(
        grad.expr, data.expr, drawn.size, drawn.strides, drawn.padding, drawn.dilation, drawn.ceil, include, layout
    )
    size = 2.0 * drawn.size[0] * drawn.size[1]
    return scope.emit_rounded(built, Bounds(-size, size), data.dtype)


for _kind in ("max", "avg"):
    ROWS.row(f"grad.{_kind}_pool2d_backward")(partial(_draw_pool_backward, kind=_kind))


@ROWS.row("grad.take_backward")
def draw_take_backward(scope: Scope) -> Value | None:
    """Draw ``grad.take_backward`` with a vector of indices along an axis, or of a vector without one."""
    filled = scope.nonempty
    data = adapted(
        scope,
        dtypes=(*WIDE_FLOATS, *SIGNED[:2]),
        ranks=(2, 1, 3, 4),
        where=lambda v: filled(v) and scope.most_elements(v.shape) <= 1024,
    )
    # TVM defect: a negative axis passes inference, and the kernel writes past the end of its result.
    where, count = scope.index(data.rank), scope.integer(1, 4)
    dims = list(data.shape)
    bounds = Bounds(0, scope.dim_range(dims[where])[0] - 1, True)
    indices = adapted(scope, dtypes=("int64", "int32"), shape=(count,), bounds=bounds)
    dims[where] = count
    grad = adapted(scope, dtypes=(data.dtype,), shape=dims, bounds=Bounds(-2, 2, "int" in data.dtype))
    named = None if data.rank == 1 and scope.flip() else where
    call = op.grad.take_backward(grad.expr, data.expr, indices.expr, named)
    return scope.emit_rounded(call, Bounds(-2.0 * count, 2.0 * count), data.dtype)


for _name in ("no_grad", "start_checkpoint", "end_checkpoint"):
    ROWS.row(f"grad.{_name}")(partial(_draw_identity, call=getattr(op.grad, _name)))
