"""How operators bound their results: one rule an operator, for the analysis of seeds.

An operator that is defined for part of its operands' range only has a rule that looks at the operands, or none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from strategies.bounds import Bounds, is_float, union_of
from strategies.dims import Range, dim_range
from strategies.values import Value, same_dim

SMALL = 2.0**-6
"""Least divisor: what is smaller turns rounding errors into differences that say nothing."""


class Unproven(Exception):
    """The analysis cannot argue that a seed is defined for every input; the message is a short phrase."""


class Step:
    """A call with what is known of its arguments, as the rules look at it."""

    def __init__(self, symbols: Mapping[Any, Range], call: Any, arguments: Sequence[Value]) -> None:
        self.symbols = symbols
        self.expr = call
        self.attrs = call.attrs
        self.ty = call.ty
        self.arguments = arguments

    def __getitem__(self, index: int) -> Bounds:
        """Bounds of an argument that is a tensor."""
        return bounds_in(self.arguments[index])

    def __len__(self) -> int:
        return len(self.arguments)

    def dims(self, index: int) -> tuple[Any, ...]:
        """Dims of an argument; raises ``Unproven`` when they are unknown."""
        found = self.arguments[index].dims
        if found is None:
            raise Unproven("a tensor of unknown shape")
        return found

    def most(self, dims: Sequence[Any]) -> int:
        """The greatest number of elements."""
        total = 1
        for dim in dims:
            total *= dim_range(dim, self.symbols)[1]
        return total

    def least(self, dims: Sequence[Any]) -> int:
        """The least number of elements."""
        total = 1
        for dim in dims:
            total *= max(0, dim_range(dim, self.symbols)[0])
        return total

    def reduced(self) -> tuple[Any, ...]:
        """The dims that a reduction goes over."""
        dims, axes = self.dims(0), self.attrs.axis
        if axes is None:
            return dims
        chosen = [int(axis) for axis in (axes if hasattr(axes, "__iter__") else (axes,))]
        return tuple(dims[axis] for axis in chosen)


Rule = Callable[[Step], "Bounds | tuple[Bounds, ...]"]


def bounds_in(value: Value) -> Bounds:
    """Bounds of a tensor; raises ``Unproven`` for what is none."""
    if value.bounds is None:
        raise Unproven("an operand that is no tensor of known dtype")
    return value.bounds


def _same(step: Step) -> Bounds:
    """The elements of the first argument, moved about."""
    return step[0]


def _within(lo: float, hi: float, integral: bool = False) -> Rule:
    return lambda step: Bounds(lo, hi, integral)


def _monotone(function: Callable[[float], float], lo: float = -math.inf, hi: float = math.inf) -> Rule:
    """A non-decreasing function that is defined, and smooth enough, on ``[lo, hi]``."""

    def rule(step: Step) -> Bounds:
        if not (lo <= step[0].lo and step[0].hi <= hi):
            raise Unproven("a function outside of its domain")
        return step[0].monotone(function)

    return rule


def _of_two(function: Callable[[Bounds, Bounds], Bounds]) -> Rule:
    return lambda step: function(step[0], step[1])


def _divide(step: Step) -> Bounds:
    if step[1].lo < SMALL and step[1].hi > -SMALL:
        raise Unproven("a division by what may be zero")
    if not is_float(step.arguments[0].dtype):
        raise Unproven("a division of integers")
    return step[0] / step[1]


def _astype(step: Step) -> Bounds:
    source, target = step.arguments[0].dtype, str(step.ty.dtype)
    if target == "bool":
        return Bounds(0, 1, True)
    if is_float(target) or not is_float(source):
        return step[0]
    return step[0].floor()


def _clip(step: Step) -> Bounds:
    numbers = [float(each.value) for each in step.expr.args[1:] if hasattr(each, "value")]
    if len(numbers) != 2 or numbers[0] > numbers[1]:
        raise Unproven("a clip to limits that are not known")
    return step[0].clipped(*numbers)


def _sum(step: Step) -> Bounds:
    return step[0].up_to(step.most(step.reduced()))


def _of_some(step: Step) -> Bounds:
    """A reduction that is one of its elements, or between them: of nothing, undefined."""
    if step.least(step.reduced()) < 1:
        raise Unproven("a reduction of what may be empty")
    return step[0]


def _mean(step: Step) -> Bounds:
    found = _of_some(step)
    return Bounds(found.lo, found.hi)


def _variance(step: Step) -> Bounds:
    found = _of_some(step)
    return Bounds(0.0, (found.hi - found.lo) ** 2)


def _matmul(step: Step) -> Bounds:
    left, right = step.dims(0), step.dims(1)
    if not left or not right or not same_dim(left[-1], right[max(0, len(right) - 2)]):
        raise Unproven("dims that may differ")  # type inference refuses only what it can prove unequal
    return (step[0] * step[1]).up_to(step.most(step.dims(0)[-1:]))


def _static(step: Step) -> None:
    """Type inference of these refuses only what it can prove unequal: with numbers alone there is no doubt."""
    if not all(part.is_static for value in step.arguments for part in value.parts or (value,)):
        raise Unproven("dims that may differ")


def _conv(step: Step) -> Bounds:
    """At most all of a kernel's elements take part in one output; padding adds zeros."""
    _static(step)
    return (step[0] * step[1]).up_to(step.most(step.dims(1)))


def _max_pool(step: Step) -> Bounds:
    if any(int(each) for each in step.attrs.padding) or step.attrs.ceil_mode:
        raise Unproven("a pool whose windows may be empty")
    return step[0]


def _avg_pool(step: Step) -> Bounds:
    return _max_pool(step).including(0.0)


def _softmax(step: Step) -> Bounds:
    if step.least(step.dims(0)) < 1:
        raise Unproven("a softmax of what may be empty")
    return Bounds(0.0, 1.0)


def _log_softmax(step: Step) -> Bounds:
    _softmax(step)
    return Bounds(-(step[0].hi - step[0].lo) - math.log(max(1, step.most(step.dims(0)))), 0.0)


def _layer_norm(step: Step) -> Bounds:
    """A normalised element is at most the square root of their number."""
    _static(step)
    if float(step.attrs.epsilon) < 1e-6 or len(step) < 3:
        raise Unproven("a normalisation without epsilon")
    reach = math.sqrt(step.most(step.dims(0)))
    return Bounds(-reach, reach) * step[1] + step[2]


def _rms_norm(step: Step) -> Bounds:
    _static(step)
    if float(step.attrs.epsilon) < 1e-6:
        raise Unproven("a normalisation without epsilon")
    reach = math.sqrt(step.most(step.dims(0)))
    return Bounds(-reach, reach) * step[1]


def _attention(step: Step) -> Bounds:
    """Weighted means of the values, with weights that sum to one."""
    _static(step)
    if step.attrs.causal_mask is not None or step.attrs.window_size is not None or step.least(step.dims(2)) < 1:
        raise Unproven("an attention of what may be nothing")
    return Bounds(step[2].lo, step[2].hi)


def _concat(step: Step) -> Bounds:
    _static(step)
    return union_of(bounds_in(part) for part in step.arguments[0].parts)


def _split(step: Step) -> tuple[Bounds, ...]:
    return tuple(step[0] for _ in step.ty.fields)


def _take(step: Step) -> Bounds:
    axis = step.attrs.axis
    dims = step.dims(0) if axis is None else step.dims(0)[int(axis) :][:1]
    if step[1].lo < 0 or step[1].hi > step.least(dims) - 1:
        raise Unproven("indices that may be out of range")
    return step[0]


def _full(step: Step) -> Bounds:
    return step[len(step) - 1]


def _pad(step: Step) -> Bounds:
    if str(step.attrs.pad_mode) != "constant":
        raise Unproven("a pad that is not constant")
    return step[0].including(float(step.attrs.pad_value))


def _leaky(step: Step) -> Bounds:
    slope = float(step.attrs.alpha)
    if not 0 <= slope <= 1:
        raise Unproven("a leaky slope beyond one")
    return step[0].including(0.0)


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        (
            "permute_dims",
            "reshape",
            "expand_dims",
            "squeeze",
            "flatten",
            "flip",
            "broadcast_to",
            "repeat",
            "tile",
            "strided_slice",
            "nn.batch_flatten",
        ),
        _same,
    ),
    "nn.relu": lambda step: step[0].maximum(Bounds(0, 0, True)),
    "negative": lambda step: -step[0],
    "abs": lambda step: step[0].absolute(),
    "square": lambda step: step[0].square(),
    "exp": _monotone(math.exp, hi=9.0),
    "sqrt": _monotone(math.sqrt, lo=0.0),
    "log": _monotone(math.log, lo=SMALL),
    "rsqrt": lambda step: -_monotone(lambda x: -1 / math.sqrt(x), lo=SMALL)(step),  # type: ignore[operator]
    "sigmoid": _within(0.0, 1.0),
    "tanh": _within(-1.0, 1.0),
    "erf": _within(-1.0, 1.0),
    "sin": _within(-1.0, 1.0),
    "cos": _within(-1.0, 1.0),
    **dict.fromkeys(("floor", "ceil", "round", "trunc"), lambda step: step[0].floor()),
    "sign": _within(-1, 1, True),
    **dict.fromkeys(("isnan", "isinf", "isfinite", "logical_not"), _within(0, 1, True)),
    **dict.fromkeys(
        (
            "equal",
            "not_equal",
            "less",
            "less_equal",
            "greater",
            "greater_equal",
            "logical_and",
            "logical_or",
            "logical_xor",
        ),
        _within(0, 1, True),
    ),
    **dict.fromkeys(("nn.gelu", "nn.gelu_tanh", "nn.silu"), lambda step: step[0].including(0.0).including(-0.3)),
    "nn.leakyrelu": _leaky,
    "nn.softplus": lambda step: Bounds(0.0, max(0.0, step[0].hi) + 1.0),
    "nn.softmax": _softmax,
    "nn.log_softmax": _log_softmax,
    "add": _of_two(Bounds.__add__),
    "subtract": _of_two(Bounds.__sub__),
    "multiply": _of_two(Bounds.__mul__),
    "divide": _divide,
    "maximum": _of_two(Bounds.maximum),
    "minimum": _of_two(Bounds.minimum),
    "where": lambda step: step[1].union(step[2]),
    "clip": _clip,
    "astype": _astype,
    "sum": _sum,
    "max": _of_some,
    "min": _of_some,
    "mean": _mean,
    "variance": _variance,
    "std": lambda step: _variance(step).monotone(math.sqrt),
    "matmul": _matmul,
    **dict.fromkeys(("nn.conv1d", "nn.conv2d", "nn.conv3d"), _conv),
    **dict.fromkeys(("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose"), _conv),
    **dict.fromkeys(("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"), _max_pool),
    **dict.fromkeys(("nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d"), _avg_pool),
    "nn.adaptive_avg_pool2d": lambda step: step[0].including(0.0),
    "nn.layer_norm": _layer_norm,
    "nn.rms_norm": _rms_norm,
    "nn.attention": _attention,
    "concat": _concat,
    "stack": _concat,
    "split": _split,
    "take": _take,
    "zeros": _within(0, 0, True),
    "ones": _within(1, 1, True),
    "zeros_like": _within(0, 0, True),
    "ones_like": _within(1, 1, True),
    "full": _full,
    "full_like": _full,
    "nn.pad": _pad,
}
"""Operators whose results can be bounded, each with how; names without ``relax.``."""
