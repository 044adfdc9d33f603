"""Rules by which operators bound their results: a row names its own, for modules that were not drawn.

An operator that is defined for part of its operands' range only has a rule that looks at the operands, or none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from strategies.scope.bounds import Bounds, is_float, union_of
from strategies.scope.dims import Range, dim_range
from strategies.scope.values import Value, same_dim

SMALL = 2.0**-6
"""Least divisor: what is smaller turns rounding errors into differences that say nothing."""


class Unproven(Exception):
    """The analysis cannot argue that a seed is defined for every input; the message is a short phrase."""


class BoundedCall:
    """A call with what is known of its arguments, as the rules look at it."""

    def __init__(self, symbols: Mapping[Any, Range], call: Any, arguments: Sequence[Value]) -> None:
        self.symbols = symbols
        self.expr = call
        self.attrs = call.attrs
        self.ty = call.ty
        self.arguments = arguments

    def __getitem__(self, index: int) -> Bounds:
        """Return bounds of an argument that is a tensor."""
        return bounds_in(self.arguments[index])

    def __len__(self) -> int:
        return len(self.arguments)

    def dims(self, index: int) -> tuple[Any, ...]:
        """Return dims of an argument; raises ``Unproven`` when they are unknown."""
        found = self.arguments[index].dims
        if found is None:
            raise Unproven("a tensor of unknown shape")
        return found

    def most(self, dims: Sequence[Any]) -> int:
        """Return the greatest number of elements."""
        return math.prod(dim_range(dim, self.symbols)[1] for dim in dims)

    def least(self, dims: Sequence[Any]) -> int:
        """Return the least number of elements."""
        return math.prod(max(0, dim_range(dim, self.symbols)[0]) for dim in dims)

    def reduced(self) -> tuple[Any, ...]:
        """Return the dims that a reduction goes over."""
        dims, axes = self.dims(0), self.attrs.axis
        if axes is None:
            return dims
        chosen = [int(axis) for axis in (axes if hasattr(axes, "__iter__") else (axes,))]
        return tuple(dims[axis] for axis in chosen)


Rule = Callable[[BoundedCall], "Bounds | tuple[Bounds, ...]"]


def bounds_in(value: Value) -> Bounds:
    """Return bounds of a tensor; raises ``Unproven`` for what is none."""
    if value.bounds is None:
        raise Unproven("an operand that is no tensor of known dtype")
    return value.bounds


def moved(call: BoundedCall) -> Bounds:
    """Bound what moves the elements of its first operand about."""
    return call[0]


def within(lo: float, hi: float, integral: bool = False) -> Rule:
    """Take an operator whose results lie between two numbers whatever its operands are."""
    return lambda call: Bounds(lo, hi, integral)


def elementwise(result: Callable[[Bounds], Bounds], lo: float = -math.inf, hi: float = math.inf) -> Rule:
    """Take a function of one operand that is defined, and smooth enough, on ``[lo, hi]``."""

    def rule(call: BoundedCall) -> Bounds:
        if not (lo <= call[0].lo and call[0].hi <= hi):
            raise Unproven("a function outside of its domain")
        return result(call[0])

    return rule


def divide(call: BoundedCall) -> Bounds:
    """Bound quotients of floats by what is not near zero."""
    if call[1].lo < SMALL and call[1].hi > -SMALL:
        raise Unproven("a division by what may be zero")
    if not is_float(call.arguments[0].dtype):
        raise Unproven("a division of integers")
    return call[0] / call[1]


def astype(call: BoundedCall) -> Bounds:
    """Bound a cast: to whole numbers in either direction, to a boolean in any way."""
    source, target = call.arguments[0].dtype, str(call.ty.dtype)
    if target == "bool":
        return Bounds(0, 1, True)
    if is_float(target) or not is_float(source):
        return call[0]
    return call[0].floor()


def clip(call: BoundedCall) -> Bounds:
    """Bound a clip to numbers."""
    numbers = [float(each.value) for each in call.expr.args[1:] if hasattr(each, "value")]
    if len(numbers) != 2 or numbers[0] > numbers[1]:
        raise Unproven("a clip to limits that are not known")
    return call[0].clipped(*numbers)


def matmul(call: BoundedCall) -> Bounds:
    """Bound sums of as many products as the dim has elements that is summed over."""
    left, right = call.dims(0), call.dims(1)
    if not left or not right or not same_dim(left[-1], right[max(0, len(right) - 2)]):
        raise Unproven("dims that may differ")  # type inference refuses only what it can prove unequal
    return (call[0] * call[1]).up_to(call.most(call.dims(0)[-1:]))


def _static(call: BoundedCall) -> None:
    """Ask for static shapes: type inference refuses only dims that it can prove unequal."""
    if not all(part.is_static for value in call.arguments for part in value.parts or (value,)):
        raise Unproven("dims that may differ")


def conv(call: BoundedCall) -> Bounds:
    """Bound a convolution: at most all of a kernel's elements take part in one output; padding adds zeros."""
    _static(call)
    return (call[0] * call[1]).up_to(call.most(call.dims(1)))


def max_pool(call: BoundedCall) -> Bounds:
    """Bound a pool of windows that hold an element each."""
    if any(int(each) for each in call.attrs.padding) or call.attrs.ceil_mode:
        raise Unproven("a pool whose windows may be empty")
    return call[0]


def avg_pool(call: BoundedCall) -> Bounds:
    """Bound a pool that may count padding as zeros."""
    return max_pool(call).including(0.0)


def softmax(call: BoundedCall) -> Bounds:
    """Bound a softmax of at least one element."""
    if call.least(call.dims(0)) < 1:
        raise Unproven("a softmax of what may be empty")
    return Bounds(0.0, 1.0)


def log_softmax(call: BoundedCall) -> Bounds:
    """Bound a log softmax by the width of its operand and the logarithm of its elements."""
    softmax(call)
    return Bounds(-(call[0].hi - call[0].lo) - math.log(max(1, call.most(call.dims(0)))), 0.0)


def layer_norm(call: BoundedCall) -> Bounds:
    """Bound a normalisation: a normalised element is at most the square root of their number."""
    if len(call) < 3:
        raise Unproven("a normalisation without epsilon")
    return rms_norm(call) + call[2]


def rms_norm(call: BoundedCall) -> Bounds:
    """Bound a normalisation as :func:`layer_norm` does, without a shift."""
    _static(call)
    if float(call.attrs.epsilon) < 1e-6:
        raise Unproven("a normalisation without epsilon")
    reach = math.sqrt(call.most(call.dims(0)))
    return Bounds(-reach, reach) * call[1]


def attention(call: BoundedCall) -> Bounds:
    """Bound weighted means of the values, with weights that sum to one: of the first key alone by ``TopLeft``."""
    _static(call)
    masked = call.attrs.causal_mask not in (None, "TopLeft") or call.attrs.window_size is not None
    if masked or call.least(call.dims(2)) < 1:
        raise Unproven("an attention of what may be nothing")
    return Bounds(call[2].lo, call[2].hi)


def concat(call: BoundedCall) -> Bounds:
    """Bound a concatenation, or stack, by all its parts."""
    _static(call)
    return union_of(bounds_in(part) for part in call.arguments[0].parts)


def split(call: BoundedCall) -> tuple[Bounds, ...]:
    """Bound each part by the whole."""
    return tuple(call[0] for _ in call.ty.fields)


def take(call: BoundedCall) -> Bounds:
    """Bound a gather of indices within range."""
    axis = call.attrs.axis
    dims = call.dims(0) if axis is None else call.dims(0)[int(axis) :][:1]
    if call[1].lo < 0 or call[1].hi > call.least(dims) - 1:
        raise Unproven("indices that may be out of range")
    return call[0]


def full(call: BoundedCall) -> Bounds:
    """Bound a filled tensor by the number."""
    return call[len(call) - 1]


def pad(call: BoundedCall) -> Bounds:
    """Bound a pad by a constant."""
    if str(call.attrs.pad_mode) != "constant":
        raise Unproven("a pad that is not constant")
    return call[0].including(float(call.attrs.pad_value))


def leaky(call: BoundedCall) -> Bounds:
    """Bound the leaky rectifier of a slope from 0 to 1."""
    slope = float(call.attrs.alpha)
    if not 0 <= slope <= 1:
        raise Unproven("a leaky slope beyond one")
    return call[0].including(0.0)
